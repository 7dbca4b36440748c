"""Small table files as pandas, R, Excel, LibreOffice and instruments write them, and what each one holds.

Most files hold `BLOOD`; columns are written as a name and numbers. The words of a case are patterns that its
notes, or its error, must contain. A note that contains none of them is a fault; one after ``?`` may be there.
"""

import bz2
import gzip
import io
import lzma

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pytest

BLOOD = "age 58 61 47; dose 4.5 5.25 3.75; hb 46.25 40.5 51.75"
HOLES = "age 58 61 47; dose nan 5.25 3.75; hb 46.25 nan 51.75"
HEAD, IDS, ABC = "age,dose,hb", ["17", "4", "29"], ["a", "b", "c"]
ROWS = "row names|names (of )?the rows|one cell short"


def read(title, content, words="", holds=BLOOD, rows=None, file="x.csv", **options):
    """A file that is read: words of its notes, its columns, and the names of its rows."""
    return pytest.param(file, content, options, [*filter(None, words.split("; "))], holds, rows, id=title)


def refused(title, content, words, file="x.csv", **options):
    """A file that is refused, with words of the error."""
    return pytest.param(file, content, options, words.split("; "), id=title)


def columns(holds):
    return {name: [*map(float, numbers)] for name, *numbers in map(str.split, holds.split(";"))}


def named(names, holds=BLOOD):
    """The same columns with other names."""
    numbers = [part.split(maxsplit=1)[1] for part in holds.split(";")]
    return "; ".join(map(" ".join, zip(names.split(), numbers, strict=True)))


def csv(head=HEAD, *first, sep=",", holds=BLOOD):
    """The text of some columns below a header; the rows begin with other cells if there are any."""
    rows = ([f"{x:g}" for x in row] for row in zip(*columns(holds).values(), strict=True))
    rows = [[str(cell), *row] for cell, row in zip(first, rows, strict=True)] if first else rows
    return "\n".join([head.replace(",", sep), *map(sep.join, rows), ""])


def german(text):
    return text.replace(",", ";").replace(".", ",")


def saved(save):
    save(stream := io.BytesIO())
    return stream.getvalue()


def book(hidden_sheet=None, hidden_row=None, **sheets):
    made = openpyxl.Workbook()
    made.remove(made.active)
    for title, rows in sheets.items():
        sheet = made.create_sheet(title)
        for row in rows:
            sheet.append(row)
        sheet.sheet_state = "hidden" if title == hidden_sheet else "visible"
        if hidden_row:
            sheet.row_dimensions[hidden_row].hidden = True
    return saved(made.save)


FRAME = pd.DataFrame(columns(BLOOD))
SHEET = [list(FRAME), *FRAME.to_numpy().tolist()]
NAMELESS = named("column_1 column_2 column_3")
SAMPLED = csv(f",{HEAD}", *IDS)
PACKED = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}
PACKED["zst"] = lambda content: pa.compress(content, codec="zstd", asbytes=True)
COUNTED = "0 582 433 640; 1 411 590 366; 2 633 377 529; 3 370 611 455; 4 514 402 571"
THREES = "x 1.234 3.456 2.125; y 2.345 4.567 6.789"
PANDAS = [
    read("pandas: to_csv(index=False)", csv()),
    read("pandas: to_csv", csv(f",{HEAD}", 0, 1, 2), "count"),
    read("pandas: to_csv of df.sample(3)", SAMPLED, ROWS, rows=IDS),
    read("pandas: that file, saved again", f"Unnamed: 0{SAMPLED}", ROWS, rows=IDS),
    read("pandas: index of seconds", csv(f",{HEAD}", 0.5, 1.0, 1.5), ROWS, rows=["0.5", "1.0", "1.5"]),
    read("pandas: means of groups", csv(f"site,{HEAD}", *ABC), ROWS, rows=ABC),
    read("pandas: to_csv(sep=';', decimal=',')", german(csv()), "decimal"),
    read("pandas: to_csv(decimal=',')", 'x,y\n1,"4,5"\n3,"46,15"\n', "decimal", "x 1 3; y 4.5 46.15"),
    read("pandas: to_csv(float_format='%.3f')", csv("x,y", holds=THREES), "?points", THREES),
    read("pandas: True and False", "x,f\n58,True\n61,False\n", "", "x 58 61; f 1 0"),
    read("pandas: rows and columns counted", csv(",0,1,2", 0, 1, 2), "count; ?header", named("0 1 2")),
    read("pandas: columns counted", csv("0,1,2,3,4", holds=COUNTED), "header", COUNTED),
    *(read(f"pandas: .csv.{end}", pack(csv().encode()), file=f"x.csv.{end}") for end, pack in PACKED.items()),
    read("pandas: to_excel(index=False)", book(Sheet1=SHEET), file="x.xlsx"),
    read("pandas: to_excel of a subset", saved(FRAME.set_axis(IDS).to_excel), ROWS, rows=IDS, file="x.xlsx"),
    read("pandas: to_parquet", saved(FRAME.set_axis(IDS).to_parquet), rows=IDS, file="x.parquet"),
    read("pandas: texts in parquet", saved(FRAME.assign(s="x").to_parquet), "'s'", file="x.parquet"),
    read("pandas: to_feather", saved(FRAME.to_feather), file="x.feather"),
    read("numpy: save", saved(lambda file: np.save(file, FRAME)), "", NAMELESS, file="x.npy"),
    read("numpy: savetxt", saved(lambda file: np.savetxt(file, FRAME, header="age dose hb")), "comment"),
]

QUOTED, Q = '"age","dose","hb"', ['"a"', '"b"', '"c"']
SUBSET = csv(QUOTED, '"17"', '"4"', '"29"', sep=" ")
NAMED = csv(QUOTED, *Q, sep=" ", holds=HOLES).replace("nan", "NA")
R = [
    read("R: write.csv", csv(f'"",{QUOTED}', '"1"', '"2"', '"3"'), "count"),
    read("R: write.csv of a subset", csv(f'"",{QUOTED}', '"17"', '"4"', '"29"'), ROWS, rows=IDS),
    read("R: write.csv2", german(csv(f'"",{QUOTED}', *Q)), f"{ROWS}; decimal", rows=ABC),
    read("R: write.table", csv(QUOTED, '"1"', '"2"', '"3"', sep=" "), "count; ?one cell", file="x.txt"),
    read("R: write.table with names", NAMED, ROWS, HOLES, ABC),
    read("R: write.table of a subset, --id-column", SUBSET, "one cell", rows=IDS, id_column="1"),
    read("R: write.table(row.names=FALSE)", csv(QUOTED, sep="\t"), file="x.tsv"),
    read("R: write.table without names", csv(sep=" ")[12:], "", NAMELESS, file="x.dat"),
    read("R: write.table(dec=',')", csv(QUOTED, sep=" ").replace(".", ","), "decimal", file="x.txt"),
    read("R: factors", csv(f'"sex",{QUOTED}', '"f"', '"m"', '"f"'), "sex"),
]

SIZES = csv("Größe,dose,hb")
TITLE = "Trial, May;;;\n;;;\nage;dose;hb;\n58;4.5;46.25;\n61;5.25;40.5;\n47;3.75;51.75;\n;;;\n;;;\n"
TITLES = [["Trial 12"], [], list(FRAME), [58, "#DIV/0!", 46.25], [61, 5.25], [47, 3.75, 51.75]]
FIVE = "x 58 61 47 70 52; y 4.5 5.25 3.75 6.5 4"
COUNTER = csv("nr,x,y", 1, 2, 3, 4, 5, holds=FIVE)
ENERGY = "oil 7261.22 812.5 12044; gas 1200 2300 3455.75"
THOUSANDS = {
    "German": "oil;gas\n7.261,22;1.200\n812,5;2.300\n12.044;3.455,75\n",
    "Swiss": "oil;gas\n7'261.22;1'200\n812.5;2'300\n12'044;3'455.75\n",
    "French": "oil;gas\n7\xa0261,22;1\xa0200\n812,5;2\xa0300\n12\xa0044;3\xa0455,75\n",
    "English": 'oil,gas\n"7,261.22","1,200"\n812.5,"2,300"\n"12,044","3,455.75"\n',
}
EITHER = "x;y\n1.200;2.300\n4.500;8.125\n"
EXCEL = [
    read("Excel: German CSV UTF-8", "\ufeff" + german(csv()).replace("\n", "\r\n"), "decimal"),
    read("Excel: German CSV", german(SIZES).encode("cp1252"), "cp1252; decimal", named("Größe dose hb")),
    read("Excel: --encoding", SIZES.encode("mac-roman"), "", named("Größe dose hb"), encoding="mac-roman"),
    read("Excel: CSV of a Mac", csv().replace("\n", "\r")),
    read("Excel: Unicode text", csv(sep="\t").encode("utf-16"), file="x.txt"),
    read("Excel: sep=;", "\ufeffsep=;\r\n" + csv(sep=";")),
    read("Excel: exponents", "x;y\n5,8E+01;4,5E-01\n6;1\n", "decimal", "x 58 6; y 0.45 1"),
    read("Excel: a title, empty columns and rows", TITLE, "Trial, May; left out; ?empty"),
    *(read(f"Excel: {of} thousands", THOUSANDS[of], "thousands", ENERGY) for of in ("English", "Swiss")),
    *(
        read(f"Excel: {of} thousands", THOUSANDS[of], "thousands; decimal", ENERGY)
        for of in ("German", "French")
    ),
    read("Excel: 1.200 with --decimal .", EITHER, "", "x 1.2 4.5; y 2.3 8.125", decimal="."),
    read("Excel: 1.200 with --decimal ,", EITHER, "?thousands", "x 1200 4500; y 2300 8125", decimal=","),
    read("Excel: a hidden sheet", book("A", A=[["a"], [1]], B=SHEET, C=[["x"]]), "C; ?hid", file="x.xlsx"),
    read("Excel: --sheet", book(Notes=[["by Ann"]], Data=SHEET), file="x.xlsx", sheet="Data"),
    read("Excel: a hidden row", book(Data=SHEET, hidden_row=3), "hid", file="x.xlsx"),
    read("Excel: a title, an error, an empty cell", book(Data=TITLES), "Trial 12", HOLES, file="x.xlsx"),
    read("Excel: a counter", COUNTER, "nr", FIVE),
    read("Excel: a counter, --columns", COUNTER, holds="nr 1 2 3 4 5", columns=["1"]),
    read("Excel: two columns with one name, --drop", csv("dose,age,dose,hb", 1, 2, 4), drop=["1"]),
]

CODES = german(csv(f'"who",{QUOTED}', '"P3"', '"P9"', '"Q1"'))
UNITS = german(csv(f"who,{HEAD}\n,Jahre,mg/l,%", *ABC))
PEOPLE = csv(f"who,{HEAD}", *ABC)
LIBREOFFICE = [
    read("LibreOffice: texts quoted", CODES, f"{ROWS}; decimal", rows=["P3", "P9", "Q1"]),
    read("LibreOffice: |", 'age|a,b|"c|d"\n' + csv(sep="|")[12:], "", named("age a,b c|d")),
    read("LibreOffice: units", UNITS, f"mg/l; {ROWS}; decimal", rows=ABC),
    read("LibreOffice: a mean", csv() + "Mittelwert,,46.17\n", "Mittelwert"),
    read("LibreOffice: a sum", PEOPLE + "Summe,,13.5,138.5\n", f"Summe; {ROWS}", rows=ABC),
    read("LibreOffice: two", PEOPLE + "\nmean,55,4.5,46.17\nSD,7,.75,5.63\n", f"mean; SD; {ROWS}", rows=ABC),
    read("a patient called Max", PEOPLE.replace("\nc", "\nMax"), ROWS, rows=["a", "b", "Max"]),
]

TABS = "Spectro 3000\nBy: Ann\n\nage\tdose\thb\n58\t4.5\t46.25\t\n61\t5.25\t40.5\t\n47\t3.75\t51.75\t\n"
ALIGNED = " age  dose    hb\n  58   4.5 46.25\n  61  5.25  40.5\n  47  3.75 51.75\n"
SIGNS = "x;y\n−4.5;+.5\n5.25;1e-3\n3.;-2E2\n"
WAVES = "400 .31 .28; 410 .42 .47; 420 .57 .61; 430 .49 .52; 440 .36 .33"
SPECTRA, SAMPLES = "400,410,420,430,440", csv("sample,400,410,420,430,440", "s1", "s2", holds=WAVES)
PAIR = "260,280\n.31,.17\n.28,.15\n.35,.22\n.3,.19\n"
YEARS = "column_1 2019 1985 2031 2102 1911; column_2 2020 2110 1890 2050 1987"
CASES = "case 4711 1203 8842 5510 9031; x 58 61 47 70 52"
MISSING = ["-", ".", "?", "NA", "n/a", "NaN", "nan", "null", "None", "#N/A", "#DIV/0!", "#VALUE!"]
GIVEN, NA = "x;y\n58;4,5\n61;-999\n47;n.d.\n70;<0,3\n", ("-999", "n.d.", "<0,3")
BELOW, FIRST = "<0.5,48\n1.5,46\n2.25,40.5\n.75,51\n", "column_1 nan 1.5 2.25 .75; column_2 48 46 40.5 51"
INSTRUMENTS = [
    read("titles, tabs that end the rows", TABS, "Spectro 3000; left out", file="x.txt"),
    read("comments", "# Spectro 3000\n#\n" + csv().replace("61", "# a pause\n61")),
    read("columns of one width", ALIGNED, file="x.dat"),
    read("signs of typography", SIGNS, "", "x -4.5 5.25 3; y .5 .001 -200"),
    read("wavelengths", csv(SPECTRA, holds=WAVES), "header", WAVES),
    read("samples and wavelengths", SAMPLES, f"{ROWS}; ?header", WAVES, ["s1", "s2"]),
    read("two wavelengths, --header", PAIR, "", "260 .31 .28 .35 .3; 280 .17 .15 .22 .19", header=True),
    read("two rows, --no-header", PAIR[:16], "", "column_1 260 .31; column_2 280 .17", header=False),
    read("years above like values", csv("", holds=YEARS)[1:], "header", YEARS),
    *(
        read(f"{na} is missing", f"x;y\n58;4.5\n61;{na}\n47;\n", "", "x 58 61 47; y 4.5 nan nan")
        for na in MISSING
    ),
    read("-999", "x,y\n58,4.5\n61,-999\n47,3.75\n70,6.5\n", "--na", "x 58 61 47 70; y 4.5 -999 3.75 6.5"),
    read("--na", GIVEN, "decimal", "x 58 61 47 70; y 4.5 nan nan nan", na=NA),
    read("--na in the first row", BELOW, "?header", FIRST, na=("<0.5",)),
    read("codes of four digits", csv("case,x", holds=CASES), "--id-column; --drop", CASES),
    read("--sep", "x y\n58,5 4,5\n61,5 5,25\n", "decimal", "x 58.5 61.5; y 4.5 5.25", sep=" "),
]

READ = [*PANDAS, *R, *EXCEL, *LIBREOFFICE, *INSTRUMENTS]

# Refused, or read as these numbers with a note: there is no one right answer, but silence is wrong.
BLANKS = "x y\n0,512 115,125\n0,125 198,250\n0,625 112,375\n"
MORE = "1 nan 58 61 47; 2 4 4.5 5.25 3.75; 3 48 46.25 40.5 51.75"
UNSURE = [
    read("no header above names of samples", csv("", *ABC)[1:], f"header|{ROWS}"),
    read("two saved indexes", csv(f",Unnamed: 0,{HEAD}", "0,17", "1,4", "2,29"), "Unnamed: 0"),
    read("three", csv(f"Unnamed: 0.1,Unnamed: 0,{HEAD}", "0,17", "1,4", "2,29"), "Unnamed: 0"),
    read("titles of two cells", "Device,Spectro 3000\nOperator,Ann\n" + csv(), "Spectro"),
    read("three digits between blanks", BLANKS, "decimal", "x .512 .125 .625; y 115.125 198.25 112.375"),
    read("days", csv(f"day,{HEAD}", "1.3.2024", "2.3.2024", "2.3.2024"), "day"),
    read("a first row with a text", csv("missing,4,48"), "missing", MORE),
    read("a first row with <0.5", csv("<0.5,4,48"), "<0.5", MORE),
    read("a year in a header", csv("age,dose,2019"), "header", named("age dose 2019")),
]

REFUSED = [
    refused("R: write.table of a subset", SUBSET, "--id-column"),
    refused("decimal commas without quotes", "dose,age,count\n1,5,58,4\n2,5,61,6\n4,5,47,9\n", "--id-column"),
    refused("blanks between thousands", "count age\n1 234 58\n2 345 61\n4 567 47\n", "--id-column|--sep"),
    refused("three digits after every point", EITHER, "--decimal"),
    refused("three digits after every comma", 'x,y\n"1,200","2,300"\n"4,500","8,125"\n', "--decimal"),
    refused("texts in Excel", book(Data=[["x", "y"], [5.5, "1,200"], [6, "2,300"]]), "--decimal", "x.xlsx"),
    refused("groups of two digits", 'oil,gas\n"1,23,456",12\n"4,56,789",15\n', r"oil; row 1 \(line 2\)"),
    refused("decimal commas and points", "a;b\n4,5;1.25\n5,25;2.5\n3,75;4.75\n", "line; --decimal|--na"),
    refused("two wavelengths", PAIR, "--header; --no-header"),
    refused("a text at the end", csv() + "n.d.,4,46\n", r"row 4 \(line 5\); age; n\.d\.; --na; --drop"),
    refused("per cent", "age;share\n58;12,5%\n61;14,25%\n", r"row 1 \(line 2\); share; --drop"),
    refused("units in the cells", "age,dose\n58,4.5 mg\n61,5.25 mg\n", r"row 1 \(line 2\); dose; --drop"),
    refused("a slip of the keys", 'who,"x\ny"\n"An\nRoe",58\nBo,6l\nCy,4\n', r"row 2 \(line 5\); 6l; --na"),
    refused("infinity", "age,dose\n58,inf\n61,5.25\n", r"row 1 \(line 2\); dose"),
    refused("pandas: columns of two levels", ",a,a\n,x,y\n0,58,4.5\n1,61,5.25\n", "'a'"),
    refused("two columns with one name", csv("age,dose,dose"), "dose; --drop"),
    refused("two tables of one width", csv() + "\nsite,beds,staff\n4,410,57\n9,225,31\n", "line 6"),
    refused("two tables of two widths", csv() + "\nsite,beds\n4,410\n9,225\n", "line 6"),
    refused("a short row", csv() + "70,6.5\n", "line 5"),
    refused("an open quote", 'age,dose\n58,"4.5\n61,5.25\n', "line"),
    refused("only texts", "site,sex\nOslo,f\nRome,m\nOslo,m\n", "column"),
    refused("Excel: a formula", book(Data=[["a", "b"], [1, 2], [3, "=A2+B2"]]), "B3", "x.xlsx"),
    refused("Excel: no such sheet", book(Data=SHEET), "Data", "x.xlsx", sheet="Blood"),
    refused("Excel: a damaged book", book(Data=SHEET)[:900], "Excel|xlsx", "x.xlsx"),
    refused("Excel: a book called .csv", book(Data=SHEET), "text|xlsx"),
    refused("Excel: an old book", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500), "xlsx", "x.xls"),
    refused("a web page", "<!DOCTYPE html>\n<html><body>Log in</body></html>\n", "web page|HTML"),
    refused("a packed file cut short", gzip.compress(csv().encode())[:-20], "damaged|cut", "x.csv.gz"),
    refused("an empty file", "", "empty"),
    refused("a header alone", "age,dose,hb\n", " rows?"),
    refused("no file", None, "exist"),
    refused("a folder", None, "folder", "."),
    refused("no such column", csv(), "size; dose", columns=["size"]),
]

# Files of a second hand: each was once read as something else, in silence.
CITIES = ["Paris", "Lyon", "Nice", "Lille"]
SUMS = "id,a,b\nx,1.5,2\ny,2.5,3\nz,4.5,7\n"
ABX, XYZ = "a 1.5 2.5 4.5; b 2 3 7", ["x", "y", "z"]
POP = "v;pop;x\nA;2 102 650;1,5\nB;1 522 250;2,5\nC;348 000;3,5\n"
POPS = "pop 2102650 1522250 348000; x 1.5 2.5 3.5"
BLOODS = "Blood,,Urine,\nhb,wbc,ph,vol\n1,2.5,3,4\n2,3.5,5,7\n5,1.5,9,8\n"
FOURS = "hb 1 2 5; wbc 2.5 3.5 1.5; ph 3 5 9; vol 4 7 8"
SECTIONS = "id,a,b\nMen,,\nx,1.5,2\ny,2.5,3\nWomen,,\nz,4.5,7\n"
MYSQL = "a\tb\n1.5\t\\N\n2.5\t3\n4.5\t7\n"
DATES = "t;a;b\n01.02.2024;1,5;2\n02.02.2024;2,5;3\n03.02.2024;4,5;7\n"
DAYS = ["01.02.2024", "02.02.2024", "03.02.2024"]
LINES = 'id,a,b,c\nx,1.5,2,"see\n#3 below"\ny,2.5,3,u\nz,4.5,7,u\n'
ZIPS = "a,zip\n1.5,01234\n2.5,00987\n4.5,10115\n2,33333\n7,44444\n"
ZIP = "a 1.5 2.5 4.5 2 7; zip 1234 987 10115 33333 44444"
TOTAL = "a 1.5 2.5 4.5 33; b 2 3 7 1"
ERRORS = "a,b\n1.5,#BEZUG!\n#WERT!,3\n4.5,7\n2,5\n"
TOWNS = "v;a\nParis;105,4\nLyon;47,87\nNice;71,92\nLille;34,8\n"
NOTED = "a,b,c\n1.5,2,3\n2.5,3,5\n4.5,7,6\n\n*, p<0.05\n"
READ += [
    read("a column behind names", TOWNS, f"decimal; {ROWS}",
         "a 105.4 47.87 71.92 34.8", CITIES),
    read("texts and decimal commas", "id;sex;x\nx;f;1,5\ny;m;2,25\nz;f;4,75\n", f"decimal; {ROWS}; sex",
         "x 1.5 2.25 4.75", XYZ),
    read("thousands behind names", POP, f"decimal; thousand; {ROWS}", POPS, ["A", "B", "C"]),
    read("codes with a #", "id,a,b\n#17,1.5,2\n#4,2.5,3\n#29,4.5,7\n", ROWS, ABX, ["#17", "#4", "#29"]),
    read("a title above two columns", "My study,\na,b\n1.5,2\n2.5,3\n4.5,7\n", "My study", ABX),
    read("two rows of names", BLOODS, "Blood", FOURS),
    read("sections", SECTIONS, f"Men, Women; {ROWS}", ABX, XYZ),
    read("an empty row inside", "a,b\n1.5,2\n,\n2.5,3\n4.5,7\n", "empty", ABX),
    read("four summaries", f"{SUMS}Min,1.5,2\nMax,4.5,7\nMean,2.83,4\nCV %,54,66", f"Min; {ROWS}", ABX, XYZ),
    read("a mean of three", f"{SUMS}Mean (n=3),2.83,4\n", f"Mean; {ROWS}", ABX, XYZ),
    read("a sum without a name", f"{SUMS},8.5,12\n", f"8.5; {ROWS}", ABX, XYZ),
    read("a company called Total", f"{SUMS}Total,33,1\n", f"Total; {ROWS}", TOTAL, [*XYZ, "Total"]),
    read("a header with a comma more", "a,b,\n1.5,2\n2.5,3\n4.5,7\n", "", ABX),
    read("a header behind #", "#" + SUMS, f"comment; {ROWS}", ABX, XYZ),
    read("row names NA and none", "id,a,b\nNA,1.5,2\nnone,2.5,3\nx,4.5,7\n", ROWS, ABX, ["NA", "none", "x"]),
    read("errors of a German Excel", ERRORS, "", "a 1.5 nan 4.5 2; b nan 3 7 5"),
    read("MySQL", MYSQL, "", "a 1.5 2.5 4.5; b nan 3 7"),
    read("a note below the table", NOTED, "p<0.05", f"{ABX}; c 3 5 6"),
    read("German dates", DATES, f"decimal; {ROWS}", ABX, DAYS),
    read("a # within a cell", LINES, f"'c'; {ROWS}", ABX, XYZ),
    read("an en dash", "a,b\n\u20131.5,2\n2.5,3\n4.5,7\n", "", "a -1.5 2.5 4.5; b 2 3 7"),
    read("leading zeros", ZIPS, "codes", ZIP),
    read("a file without an ending", csv(), file="x"),
]  # fmt: skip
REFUSED += [
    refused(
        "below the detection limit", "name,a,b\ns1,<0.5,\ns2,1.2,7.1\ns3,3.4,7.3\n", "<0.5; --na|--header"
    ),
    refused(
        "years like the values", "c,1990,1991,1992\nDE,1985.2,1990.7,2000.1\nFR,1900,1995,2010\n", "--header"
    ),
    refused("a currency", "a,b\n$1.50,2\n$2.50,3\n$4.50,7\n", "--na"),
    refused("--sheet of a text", csv(), "--sheet", sheet="Data"),
    refused("--sep of a book", book(Data=SHEET), "--sep", "x.xlsx", sep=";"),
    refused("--decimal of a parquet file", saved(FRAME.to_parquet), "--decimal", "x.parquet", decimal=","),
    refused("infinite", "a,b\n1.5,Inf\n2.5,3\n4.5,7\n", "infinite; --na"),
]
