"""The heights of pages, measured in a browser."""

import importlib.util
from pathlib import Path

import pytest

pytest.importorskip("playwright", reason="no playwright")
SCRIPT = Path(__file__).parents[1] / "docs" / "page_heights.py"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("page_heights", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not Path(module.CHROMIUM).exists():
        pytest.skip("no browser; CHROMIUM or /usr/bin/chromium is one")
    return module


def write_page(path, pixels):
    path.write_text(f'<body style="margin: 0"><div class="bd-main" style="height: {pixels}px"></div></body>')


@pytest.mark.slow
def test_pages_are_listed_by_height_and_a_tall_one_fails(script, tmp_path, capsys):
    write_page(tmp_path / "short.html", 800)
    write_page(tmp_path / "fits.html", script.LIMIT)
    assert script.main(tmp_path) == 0
    write_page(tmp_path / "tall.html", script.LIMIT + 1)
    capsys.readouterr()
    assert script.main(tmp_path) == 1
    listed = capsys.readouterr().out.splitlines()
    assert [line.split()[-1] for line in listed] == ["tall.html", "fits.html", "short.html"]
    assert ["too tall" in line for line in listed] == [True, False, False]


@pytest.mark.slow
def test_what_is_folded_does_not_count(script, tmp_path):
    body = (
        '<div class="bd-main"><details><summary>more</summary><p style="height: 9000px"></p></details></div>'
    )
    (tmp_path / "folded.html").write_text(body)
    assert script.main(tmp_path) == 0
