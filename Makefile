# Every target does its own set-up in .venv and is safe to repeat.
PYTHON ?= python3
BIN := .venv/bin
RUFF := ruff==0.17.4
MYPY := mypy==2.4.1

.PHONY: demo test check bench test-floors test-h5ad lint docs clean

demo: .venv/demo
	$(BIN)/attenua demo

# All tests, a process on every core; what was left out is counted at the end.
test: .venv/test
	$(BIN)/python -m pytest -q -n auto

# The tests that are fast, in about a minute.
check: .venv/test
	$(BIN)/python -m pytest -q -n auto --fast

# Timings of small sizes, to compare from release to release.
bench: .venv/test
	$(BIN)/python -m pytest -q benchmarks/test_regressions.py --benchmark-only

# The oldest versions the package promises to work with, installed exactly (and tools of their time). The
# checks of scikit-learn 1.6 cannot be imported without SCIPY_ARRAY_API.
FLOORS := numpy==2.0.0 scipy==1.14.0 scikit-learn==1.6.0 dask==2024.6.0 pandas==2.2.2 pyarrow==16.1.0 'pytest<9'
test-floors: .venv-floors/test
	SCIPY_ARRAY_API=1 .venv-floors/bin/python -m pytest -q -n auto

# anndata holds pandas below the version that everything else is tested with, so it has its own environment,
# with scanpy, whose results and next steps ours are compared with.
test-h5ad: .venv-h5ad/test
	.venv-h5ad/bin/python -m pytest -q tests/cli/readers/test_h5ad.py tests/test_anndata.py \
		tests/_data/test_columns_without_numbers.py 'tests/test_docs.py::test_code_of_a_page[scanpy]'

lint: .venv/lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The pages, examples run again; a warning is an error. Open docs/_build/html/index.html.
docs: .venv/docs
	$(BIN)/python -m sphinx -W --keep-going -q -b html -d docs/_build/doctrees docs docs/_build/html

# Each stamp file says that the extras of its name are installed for this pyproject.toml.
$(BIN)/python:
	$(PYTHON) -m venv .venv

.venv/demo: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install -q -e '.[plot,cli]'
	touch $@

.venv/test: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install -q -e '.[test]'
	touch $@

.venv/docs: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install -q -e '.[docs]'
	touch $@

.venv/lint: pyproject.toml Makefile | $(BIN)/python
	$(BIN)/python -m pip install -q -e . '$(RUFF)' '$(MYPY)'
	touch $@

.venv-floors/test: pyproject.toml Makefile
	$(PYTHON) -m venv .venv-floors
	.venv-floors/bin/python -m pip install -q -e '.[test]' $(FLOORS)
	touch $@

.venv-h5ad/test: pyproject.toml Makefile
	$(PYTHON) -m venv .venv-h5ad
	.venv-h5ad/bin/python -m pip install -q -e '.[h5ad,cli]' 'pytest>=8' 'scanpy>=1.11' igraph
	touch $@

clean:
	rm -rf .venv .venv-floors .venv-h5ad docs/_build docs/auto_examples docs/api/generated
