"""The table of steps: printed, shown, handed to pandas, written down and read again."""

import pickle

import numpy as np
import pandas as pd
import pytest

from attenua._select.steps import Step, Steps

TAKEN = Step("damping", (0.0, 0.1, 0.25), (3.0, 2.5, 2.25), 0.25, 0.25, 0.0625, 0.5)
STEPS = Steps(
    [
        Step("row_tempering", why="left out: <once>"),
        TAKEN,
        TAKEN._replace(correction="tempering", standard_error=float("nan"), weight=0.0),
    ]
)


def test_it_prints_as_a_table():
    assert repr(STEPS).splitlines() == [
        "correction     compared      best  gain    s.e.   weight  note",
        "row_tempering  -             -     -       -      -       left out: <once>",
        "damping        0, 0.1, 0.25  0.25  25.00%  6.25%  50%",
        "tempering      0, 0.1, 0.25  0.25  25.00%  -      0%",
    ]
    assert repr(Steps([])).split() == ["correction", "compared", "best", "gain", "s.e.", "weight", "note"]


def test_a_notebook_shows_a_table_and_escapes_texts():
    html = STEPS._repr_html_()
    assert html.count("<tr>") == 4
    assert "left out: &lt;once&gt;</td>" in html
    assert "<b>25.00%</b></td>" in html
    assert "<once>" not in html


def test_pandas_makes_a_frame_of_it():
    frame = pd.DataFrame(STEPS)
    assert list(frame.columns) == list(Step._fields)
    assert frame["correction"].tolist() == ["row_tempering", "damping", "tempering"]
    assert frame["weight"].tolist() == [0.0, 0.5, 0.0]
    assert frame["standard_error"].isna().tolist() == [True, False, True]
    assert frame["risks"][1] == (3.0, 2.5, 2.25)


def test_it_is_a_sequence():
    assert len(STEPS) == 3
    assert STEPS[1] is TAKEN
    assert STEPS[-1].correction == "tempering"
    assert TAKEN in STEPS
    assert isinstance(STEPS[:2], Steps)
    assert STEPS[:2] == Steps(list(STEPS)[:2])
    with pytest.raises(IndexError):
        STEPS[3]


def test_equality_takes_nan_for_itself():
    again = Steps(step._replace(standard_error=step.standard_error + 0.0) for step in STEPS)
    assert again == STEPS
    assert again != Steps(list(STEPS)[::-1])
    assert again != STEPS[:2]
    assert list(STEPS) != STEPS
    assert Steps([TAKEN]) != Steps([TAKEN._replace(gain=np.nextafter(0.25, 1))])
    with pytest.raises(TypeError, match="unhashable"):
        hash(STEPS)


def test_records_and_pickles_come_back():
    records = STEPS.to_records()
    assert Steps.from_records(records) == STEPS
    assert pickle.loads(pickle.dumps(STEPS)) == STEPS
    assert [type(record["strengths"]) for record in records] == [list] * 3
    assert isinstance(Steps.from_records(records)[1].risks, tuple)


def test_weights_of_choices_are_added_up():
    choices = [
        {"damping": 0.1, "tempering": 0.0, "row_tempering": 0.0},
        {"damping": 0.25, "tempering": 0.5, "row_tempering": 0.0},
    ]
    assert [step.weight for step in STEPS.with_weights(choices, [0.25, 0.5])] == [0.0, 0.75, 0.5]
