from importlib.util import find_spec

# anndata holds pandas back, so that it is installed for these tests alone: make test-h5ad.
collect_ignore = [] if find_spec("anndata") else ["test_h5ad.py"]
