"""The report writes everything that the page includes, from a store alone."""

import re
from pathlib import Path

import pandas as pd
import pytest

from attenua_evidence.report import main, pieces

GUIDE = Path(__file__).parents[2] / "docs" / "guide"


@pytest.fixture(scope="module")
def docs(store, tmp_path_factory):
    folder = tmp_path_factory.mktemp("docs")
    main(store, folder)
    return folder


def test_what_is_written_and_included(docs):
    # What is written.
    # All files are written.
    files = {str(path.relative_to(docs)) for path in docs.rglob("*") if path.is_file()}
    names = (
        "extent",
        "headline",
        "parts",
        "losses",
        "lost",
        "kinds",
        "sizes",
        "strengths",
        "corrections",
        "methods",
        "rivals",
        "worst",
        "downstream",
        "accuracy",
        "sets_spectra",
    )
    assert files == {
        *(f"guide/_evidence_{name}.md" for name in names),
        "evidence/cells.csv",
        "evidence/cells-left-out.csv",
        "evidence/methods.csv",
        "images/evidence-forest.png",
        "images/evidence-forest-compact.png",
    }
    # Columns of the cells.
    cells = pd.read_csv(docs / "evidence" / "cells.csv")
    assert ",".join(cells) == (
        "part,data,kind,unit,order,rows,columns,rank,method,draws,fitted,gain,added,own_gain,centroid,logistic,"
        "seconds"
    )
    left_out = pd.read_csv(docs / "evidence" / "cells-left-out.csv")
    assert list(left_out) == list(cells)
    assert not cells["method"].str.startswith("without").any()
    assert left_out["method"].str.startswith("without").all()
    # Tables are whole.
    for path in (docs / "guide").iterdir():
        text = path.read_text(encoding="utf-8")
        assert "nan" not in text
        # Intervals and counts in tables are not broken over two lines.
        assert not re.search(r"^\|.*\d( \[-?\d| of \d| / \d)", text, re.MULTILINE)
        for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
            assert len({line.count("|") for line in table.splitlines()}) == 1
    # The pages include what is written.
    pages = [path for path in GUIDE.glob("*.md") if not path.name.startswith("_")]
    included = {name for page in pages for name in re.findall(r"{include} (_evidence_\S+)", page.read_text())}
    assert {path.name for path in (docs / "guide").iterdir()} <= included
    assert included == {path.name for path in GUIDE.glob("_evidence_*.md")}


@pytest.mark.slow
def test_a_second_report_is_the_same(store, docs, tmp_path):
    main(store, tmp_path)
    for path in docs.rglob("*"):
        if path.is_file():
            assert (tmp_path / path.relative_to(docs)).read_bytes() == path.read_bytes()


def test_before_the_final_part_and_without_labels(open_parts):
    parts = pieces(open_parts)
    assert parts["headline"].startswith("The final part has not been run yet.")
    assert parts["downstream"] == "No data set that was run has labels.\n"
    assert "| all | 1 | 1 |" in parts["parts"]


def test_an_empty_store_leaves_no_files(tmp_path):
    with pytest.raises(FileNotFoundError, match="no results"):
        main(tmp_path, tmp_path / "docs")
    assert not (tmp_path / "docs").exists()
