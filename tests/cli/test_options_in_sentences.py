"""What the library says of its arguments, in the words of the shell."""

import pytest

from attenua.cli.request import in_options
from tests.cli.shell import run


@pytest.mark.parametrize(
    ("said", "in_shell"),
    [
        ("n_components=9 must be between 1 and 3.", "--components 9 must be between 1 and 3."),
        ("cv=5 folds need rows; got n_samples=3.", "--cv 5 folds need rows; got 3 rows."),
        ("corrections names x; the corrections are y.", "--corrections names x; the corrections are y."),
        ("guard must be finite.", "--guard must be finite."),
        ("A split of cv has one row.", "A split of --cv has one row."),
        ("column 'cv' and 'neighbours' are constant.", "column 'cv' and 'neighbours' are constant."),
        ("--cv is not for this.", "--cv is not for this."),
    ],
)
def test_arguments_become_options(said, in_shell):
    assert in_options(said) == in_shell


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("fit", "--corrections", "smoothing"), "--corrections names smoothing, which needs --neighbours:"),
        (("fit", "--guard", "inf"), "--guard must be a finite number"),
        (("report", "--method", "pca", "--image-shape", "3x3"), "--image-shape 3 x 3 does not fit"),
    ],
)
def test_refusals_of_the_built_in_digits(tmp_path, monkeypatch, arguments, sentence):
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"Error: the built-in digits: {sentence}")


@pytest.mark.parametrize("command", ["fit", "report"])
def test_seeds_that_no_generator_takes(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    result = run(command, "--seed", 2**32)
    assert result.exit_code == 2
    assert "'--seed'" in result.stderr
    assert not list(tmp_path.iterdir())
