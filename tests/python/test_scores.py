"""Scores."""

from pathlib import Path

import pytest

import schedlab

FILE = """
scenario = "heavy-load"
reference = "rr"
duration = "2s"

[[part]]
metric = "response_ns.mean"

[[part]]
metric = "jain"
"""


def test_a_score_is_that_of_the_command_line(tmp_path: Path) -> None:
    file = tmp_path / "desk.score.toml"
    file.write_text(FILE)
    assert schedlab.score(file, "rr").score == 1.0
    mlfq = schedlab.score(file, "mlfq")
    assert 0.5 < mlfq.score < 2.0
    assert mlfq.failures == [] and mlfq.interval is None
    assert str(mlfq).startswith("mlfq scores ")
    rows = mlfq.items.to_polars()
    assert rows["path"].to_list() == ["roles.worker.response_ns.mean", "jain"]
    ratio = rows["reference"][0] / rows["value"][0]
    assert rows["ratio"][0] == pytest.approx(ratio)


def test_what_starves_scores_badly_and_what_is_wrong_raises(tmp_path: Path) -> None:
    file = tmp_path / "desk.score.toml"
    file.write_text(FILE)
    fcfs = schedlab.score(file, "fcfs")
    assert fcfs.score < 0.1
    assert "starves" in str(fcfs)
    with pytest.raises(schedlab.NotFoundError, match="cannot be read"):
        schedlab.score(tmp_path / "no.score.toml", "rr")
    file.write_text(FILE.replace("heavy-load", "heavy-lod"))
    with pytest.raises(schedlab.InputError, match="did you mean `heavy-load`"):
        schedlab.score(file, "rr")
