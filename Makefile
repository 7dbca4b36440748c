# Every target does its own set-up in .venv and is safe to repeat.
PYTHON ?= python3
BIN := .venv/bin
RUFF := ruff==0.17.4
MYPY := mypy==2.4.1
ZIZMOR := zizmor==1.32.0
SCHEMAS := check-jsonschema==0.39.0
AUDIT := pip-audit==2.10.1
BUILD := build==1.6.1 twine==7.0.0 check-wheel-contents==0.6.3

.PHONY: help demo test check lint audit docs bench study test-floors test-h5ad dist clean
.DEFAULT_GOAL := help

help:  ## This list.
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

demo: .venv/demo  ## Compare with PCA on data of scikit-learn, and save a picture.
	$(BIN)/attenua demo

check: .venv/test  ## The fast tests, for every save.
	$(BIN)/python -m pytest -q -n auto --fast tests src

test: .venv/test  ## All tests, with the reasons of those that are skipped.
	$(BIN)/python -m pytest -q -n auto -rs

lint: .venv/lint  ## ruff and mypy on the code, zizmor and their schema on the workflows.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/zizmor --offline --quiet .github
	$(BIN)/check-jsonschema -q --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema -q --builtin-schema vendor.dependabot .github/dependabot.yml

# What a user gets today, and not what we test with. OSV fails where it cannot be reached; the service of PyPI
# passes there, with nothing looked up.
audit: .venv/audit  ## Known weaknesses of all that a user installs; needs the network.
	$(PYTHON) -m venv --clear .venv-audit
	.venv-audit/bin/python -m pip install -q -e '.[all]' -e ./paper
	.venv-audit/bin/python -m pip freeze --exclude-editable > .venv-audit/requirements.txt
	$(BIN)/pip-audit --strict --vulnerability-service osv --timeout 15 --progress-spinner off \
		--no-deps --disable-pip --requirement .venv-audit/requirements.txt

docs: .venv/docs  ## The pages, with all examples run, to docs/_build/html; a warning is an error.
	rm -rf docs/api/generated  # pages of names that are gone
	$(BIN)/python -m sphinx -W --keep-going -q -b html -d docs/_build/doctrees docs docs/_build/html

bench: .venv/test  ## Timings of small sizes, to compare from release to release.
	$(BIN)/python -m pytest -q benchmarks/test_regressions.py --benchmark-only

study: .venv/study  ## The paper's study, to attenua-study/; goes on where it stopped. DATA=folder of the data sets.
	$(BIN)/attenua-paper study $(if $(DATA),--data-home '$(DATA)')

# Exactly the floors of pyproject.toml, and tools of their time. The checks of scikit-learn 1.6 cannot be
# imported without SCIPY_ARRAY_API.
FLOORS := numpy==2.0.0 scipy==1.14.0 scikit-learn==1.6.0 dask==2024.6.0 pandas==2.2.2 pyarrow==16.1.0 click==8.2.0 safetensors==0.4.0 polars==1.20.0 'pytest<9'
test-floors: .venv-floors/test  ## All tests on the oldest supported versions.
	SCIPY_ARRAY_API=1 .venv-floors/bin/python -m pytest -q -n auto

# anndata holds pandas below the version that everything else is tested with, so the extra h5ad is not in test
# and has its own environment, with scanpy, whose results and next steps ours are compared with.
test-h5ad: .venv-h5ad/test  ## Annotated data and scanpy.
	.venv-h5ad/bin/python -m pytest -q tests/test_anndata.py \
		tests/_data/test_anndata_is_refused.py evidence/tests/test_few_cells.py \
		'tests/test_docs.py::test_code_of_a_page[scanpy]'

dist: .venv/dist  ## The source distribution and the wheel, checked, to dist/.
	rm -rf dist
	$(BIN)/python -m build --quiet
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/check-wheel-contents dist/*.whl

# Each stamp file says that what its name needs is installed.
$(BIN)/python:
	$(PYTHON) -m venv .venv

.venv/demo: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install -q -e '.[cli]'
	touch $@

.venv/test: pyproject.toml paper/pyproject.toml evidence/pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install -q -e '.[test]' -e ./paper -e ./evidence
	touch $@

.venv/docs: pyproject.toml paper/pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install -q -e '.[docs]' -e ./paper
	touch $@

.venv/study: pyproject.toml paper/pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install -q -e . -e ./paper
	touch $@

.venv/lint: pyproject.toml Makefile | $(BIN)/python
	$(BIN)/python -m pip install -q -e . '$(RUFF)' '$(MYPY)' '$(ZIZMOR)' '$(SCHEMAS)'
	touch $@

.venv/audit: Makefile | $(BIN)/python
	$(BIN)/python -m pip install -q '$(AUDIT)'
	touch $@

.venv/dist: Makefile | $(BIN)/python
	$(BIN)/python -m pip install -q $(BUILD)
	touch $@

.venv-floors/test: pyproject.toml paper/pyproject.toml evidence/pyproject.toml Makefile
	$(PYTHON) -m venv .venv-floors
	.venv-floors/bin/python -m pip install -q -e '.[test]' -e ./paper -e ./evidence $(FLOORS)
	touch $@

.venv-h5ad/test: pyproject.toml paper/pyproject.toml evidence/pyproject.toml Makefile
	$(PYTHON) -m venv .venv-h5ad
	.venv-h5ad/bin/python -m pip install -q -e '.[h5ad]' -e ./paper -e ./evidence 'pytest>=8' 'scanpy>=1.11' igraph
	touch $@

clean:  ## Remove the environments and all that is built.
	rm -rf .venv .venv-floors .venv-h5ad .venv-audit dist docs/_build docs/auto_examples docs/api/generated
