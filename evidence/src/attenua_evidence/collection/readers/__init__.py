"""One reader per data set: the folder of its package in, a `Table` as it is in the package out.

`Entry.read` cleans what a reader returns. Some readers take every k-th column, or means of neighbouring ones,
so that few tables have more than about 200 columns, and in the final part none has more than 1,250; what is
done to the numbers was fixed before any result was seen, and columns are never chosen by their values.
"""
