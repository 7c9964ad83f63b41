"""Recordings, models and predictions."""

import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import schedlab

# Two programs on one CPU, as `perf script` prints them: four switches, 3 ms apart.
PERF = "\n".join(
    f"{before} {was} [000] {at / 1e6:.6f}: sched:sched_switch: prev_comm={before} prev_pid={was} prev_prio=120 "
    f"prev_state=R ==> next_comm={after} next_pid={now} next_prio=120"
    for at, before, was, after, now in [
        (1_000_000, "swapper/0", 0, "left", 11),
        (1_003_000, "left", 11, "right", 12),
        (1_006_000, "right", 12, "left", 11),
        (1_009_000, "left", 11, "right", 12),
    ]
)


def test_a_recording_of_another_tool_becomes_a_trace(tmp_path: Path) -> None:
    (tmp_path / "perf.txt").write_text(PERF + "\n")
    imported = schedlab.import_recording(tmp_path / "perf.txt", tmp_path / "perf.parquet")
    assert imported.lost == {} and imported.exit_code is None
    roles = {role["name"]: role for role in imported.data["roles"]}
    assert roles["left"]["cpu_ns"] == 6_000_000 and roles["right"]["cpu_ns"] == 3_000_000
    assert len(imported.trace().events) > 4
    assert str(imported.trace()).endswith(" events of 1 CPU in 0.009 s.")
    assert "left" in str(imported)
    with pytest.raises(schedlab.NotFoundError):
        schedlab.import_recording(tmp_path / "no.txt", tmp_path / "no.parquet")


@pytest.fixture
def recording(small: dict[str, Any], tmp_path: Path) -> Path:
    """A run of a small scenario with the calls of its tasks."""
    trace = tmp_path / "small.parquet"
    small = {**small, "run": {"duration": "4s", "seed": 7}}
    schedlab.run(small, "rr", trace=trace, for_model=True)
    return trace


def test_a_model_is_a_scenario(recording: Path, tmp_path: Path) -> None:
    model = schedlab.model(recording, tmp_path / "small.toml")
    assert model.roles.to_polars()["name"].to_list() == ["worker", "shell"]
    assert repr(model).endswith("small.toml', 2 roles)")
    assert model.unexplained_frac < 0.05
    assert (tmp_path / "small.toml").read_text().startswith("# Modelled by")
    modelled = schedlab.run(model.scenario, "rr", seed=1)
    recorded = schedlab.run(tmp_path / "small.toml", "rr", seed=1)
    assert modelled.data["roles"] == recorded.data["roles"]
    modelled.save(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "small.toml is listed below: save it first, next to small.steps.parquet." in page


def test_a_prediction_has_intervals_and_a_self_check(recording: Path) -> None:
    prediction = schedlab.predict(recording, "rr:quantum=2ms", cpus=[1, 2], resamples=4)
    assert prediction.refusal is None
    figures = prediction.figures.to_polars()
    assert sorted(set(figures["cpus"])) == [1, 2]
    assert (figures["low"] <= figures["value"]).all() and (figures["value"] <= figures["high"]).all()
    assert all(abs(error) < 0.25 for error in prediction.self_check.to_polars()["error"])
    assert set(figures["figure"]) >= {"response_mean_ns", "throughput_per_s", "cpu_frac"}
    for frame in (prediction.figures, prediction.self_check):
        shown = frame._repr_html_()
        assert re.search(r">[\d.]+ (ms|us)</td>", shown) and re.search(r">[\d.]+ %</td>", shown)
        assert re.search(r">[\d.]+ per s</td>", shown)
    one = schedlab.predict(recording, ["rr:quantum=2ms"], cpus=1, resamples=0)
    assert set(one.figures.to_polars()["cpus"]) == {1}


def test_a_prediction_has_charts_and_a_page(recording: Path, tmp_path: Path) -> None:
    prediction = schedlab.predict(recording, "rr:quantum=2ms", cpus=[1, 2], resamples=4)
    assert {"prediction", "check-responses", "prediction-responses"} <= set(prediction.charts)
    page = tmp_path / "page.html"
    prediction.save(page)
    text = page.read_text(encoding="utf-8")
    assert "the best mean response is that under" in text and "schedlab.predict(" in text
    with pytest.raises(schedlab.InputError, match=r"\.html"):
        prediction.save(tmp_path / "page.pdf")


def test_what_cannot_be_predicted_is_said(recording: Path) -> None:
    class Mine(schedlab.policy.Policy):
        pass

    cases: list[tuple[Any, dict[str, Any], type[Exception], str]] = [
        ("no-such-policy", {}, schedlab.NotFoundError, "no-such-policy"),
        (Mine, {}, TypeError, "^policy: a name or a file is needed, not <class .*; a prediction cannot run a class$"),
        (["rr", Mine], {}, TypeError, "a prediction cannot run a class"),
        (7, {}, TypeError, "^policy: a name or a file is needed, not 7"),
        ("rr", {"cpus": [-1]}, schedlab.InputError, "^cpus: a whole number from 1 to 4096 is needed, not -1$"),
        ("rr", {"cpus": 0}, schedlab.InputError, "^cpus: a whole number from 1 to 4096 is needed, not 0$"),
        ("rr", {"cpus": "two"}, TypeError, "^cpus: a whole number is needed, not str$"),
        ("rr", {"resamples": -1}, schedlab.InputError, "^resamples: a whole number from 0 to 10000 is needed, not -1$"),
    ]
    for policy, flags, kind, line in cases:
        with pytest.raises(kind, match=line):
            schedlab.predict(recording, policy, **flags)


def test_what_cannot_be_believed_is_refused_without_an_exception(tmp_path: Path) -> None:
    (tmp_path / "perf.txt").write_text(PERF + "\n")
    prediction = schedlab.predict(tmp_path / "perf.txt", "rr", recorded="eevdf", resamples=0)
    assert prediction.refusal is not None and prediction.refusal.startswith("nothing is predicted; ")
    assert len(prediction.figures) == 0


def test_recording_needs_a_command_or_a_time_and_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(schedlab.InputError, match="seconds"):
        schedlab.record(None, tmp_path / "all.parquet")
    with pytest.raises(schedlab.InputError, match="size of a ring"):
        schedlab.record(["true"], tmp_path / "all.parquet", ring="much")
    with pytest.raises(TypeError, match=r"^command: a list .* is needed: write \['sleep', '1'\]$"):
        schedlab.record("sleep 1", tmp_path / "all.parquet")
    command = [sys.executable, "-c", "raise SystemExit(3)"]
    if os.geteuid() == 0:
        recording = schedlab.record(command, tmp_path / "exit.parquet")
        assert recording.exit_code == 3
        assert recording.data["roles"][0]["cpu_ns"] > 0
    else:
        with pytest.raises(schedlab.RunError):
            schedlab.record(command, tmp_path / "exit.parquet")
