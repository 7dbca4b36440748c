from typer.testing import CliRunner

from attenua import __version__
from attenua.cli import app


def run(*arguments):
    return CliRunner().invoke(app, arguments)


def test_version():
    result = run("--version")
    assert result.exit_code == 0
    assert __version__ in result.output


def test_demo_prints_a_table_and_names_the_picture(tmp_path):
    picture = tmp_path / "demo.png"
    result = run("demo", "--subsamples", "3", "--out", str(picture))
    assert result.exit_code == 0, result.output
    assert "removed" in result.output
    assert str(picture) in result.output.replace("\n", "")
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_demo_refuses_a_folder_that_is_not_there(tmp_path):
    result = run("demo", "--out", str(tmp_path / "nowhere" / "demo.png"))
    assert result.exit_code == 2
    assert "not exist" in " ".join(result.output.split())
