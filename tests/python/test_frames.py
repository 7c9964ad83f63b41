"""Frames cross to other libraries without being copied."""

import re
from typing import Any

import polars
import pytest

import schedlab


def test_numbers_and_words_are_not_copied(small: dict[str, Any]) -> None:
    events = schedlab.run(small, policy="rr", events=True).events
    table, frame = events.to_pyarrow(), events.to_polars()
    assert table.column("time_ns").num_chunks == 1
    for name in ("time_ns", "cpu", "task", "kind"):
        theirs: Any = frame[name].to_arrow(compat_level=polars.CompatLevel.newest())
        ours: Any = table.column(name).chunk(0)
        assert theirs.buffers()[1].address == ours.buffers()[1].address, name


def test_every_library_sees_the_same(small: dict[str, Any]) -> None:
    frame = schedlab.run(small, policy="rr", events=True).events
    assert frame.to_polars().shape == frame.to_pandas().shape == (len(frame), len(frame.columns))
    assert frame.to_pyarrow().column_names == frame.columns == frame.to_polars().columns
    assert polars.DataFrame(frame.to_pyarrow()).equals(frame.to_polars())
    assert repr(frame).startswith(f"Frame of {len(frame)} rows: time_ns, cpu, kind")


def test_columns_are_those_of_the_texts(small: dict[str, Any]) -> None:
    compared = schedlab.compare("rr-vs-ps", policy="fcfs,rr", runs=2)
    result = schedlab.run(small, policy="rr", events=True)
    for frame, text in [
        (compared.roles, schedlab.Result.roles.__doc__),
        (result.tasks, schedlab.Result.tasks.__doc__),
        (compared.cpus, schedlab.Result.cpus.__doc__),
        (compared.means, schedlab.Result.means.__doc__),
        (compared.differences, schedlab.Comparison.differences.__doc__),
        (compared.theory, schedlab.Comparison.theory.__doc__),
        (result.events, schedlab.Result.events.__doc__),
    ]:
        named = set(re.findall(r"``([a-z0-9_.]+)``", str(text).split("Columns:")[1]))
        named -= {"_ns", "runs", "batches", "exact"}
        named.discard("under_changes.ratio_low")
        assert named and named <= set(frame.columns), named - set(frame.columns)
    regular = {**small, "task": [{"name": "worker", "count": 2, "loop": [{"compute": "2ms"}]}]}
    exact = schedlab.compare(regular, "fcfs,rr")
    assert "under_changes.ratio_low" in exact.differences.columns, "where nothing is random"
    assert compared.roles.columns[:5] == ["policy", "venue", "seed", "name", "count"]
    runnable = [name for name in compared.cpus.columns if name.startswith("runnable.")]
    assert runnable == sorted(runnable, key=lambda name: int(name.split(".")[1])) and len(runnable) > 10


def test_means_are_of_all_runs(small: dict[str, Any]) -> None:
    result = schedlab.run(small, policy="rr", runs=3)
    path = "response_ns.mean"
    means = result.means.to_polars().filter(polars.col("of") == "role", polars.col("metric") == path)
    assert means["value"][0] == pytest.approx(result.roles.to_polars()[path].mean())
    assert means["value"][0] == result.data["roles"][0]["metrics"][path]["mean"] and means["runs"][0] == 3


def test_an_empty_frame_is_one_too(small: dict[str, Any]) -> None:
    tasks = schedlab.run({**small, "task": [{**small["task"][0], "count": 300}]}, policy="rr").tasks
    assert len(tasks) == 0 and len(tasks.to_polars()) == 0


def test_a_library_that_is_missing_is_told(small: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ImportError, match=r"pip install schedlab\[polars\]"):
        schedlab.run(small, policy="rr").roles.to_polars()


def test_a_notebook_shows_a_small_table_with_units() -> None:
    roles = schedlab.compare("heavy-load", policy="fcfs,rr,mlfq", perturb=0).roles
    shown = roles._repr_html_()
    assert shown.count("<tr>") == 2 + 3 and "<td" in shown
    assert ">response_ns.mean</th>" in shown and ">ms</th>" in shown and ">per s</th>" in shown
    assert "columns; <code>to_polars()</code> has all" in shown
