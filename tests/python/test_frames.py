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
        assert named and named <= set(frame.columns), named - set(frame.columns)
    assert compared.roles.columns[:5] == ["policy", "venue", "seed", "name", "count"]
    runnable = [name for name in compared.cpus.columns if name.startswith("runnable.")]
    assert runnable == sorted(runnable, key=lambda name: int(name.split(".")[1])) and len(runnable) > 10


def test_columns_and_types_are_the_same_for_any_data(small: dict[str, Any], limited: dict[str, Any]) -> None:
    one = schedlab.compare(small, "fcfs,rr", seed=2**64 - 1)
    other = schedlab.compare("rr-vs-ps", "fcfs,rr", runs=2, seed=1)
    limits = schedlab.compare(limited, "eevdf:version=7.3,eevdf")
    for name in ("roles", "tasks", "control_groups", "means", "differences", "theory"):
        schemas = [getattr(result, name).to_pyarrow().schema for result in (one, other, limits)]
        assert schemas[0] == schemas[1] == schemas[2], name
    assert len(one.theory) == len(one.control_groups) == 0 < len(other.theory)
    assert one.cpus.columns[:10] == other.cpus.columns[:10] and one.cpus.columns[10].startswith("runnable.")
    assert one.means.to_polars().schema["low"] == polars.Float64, "with one run all are null"


def test_seeds_keep_all_their_digits(small: dict[str, Any]) -> None:
    for seed in (7, 7902956288145713001, 2**64 - 1):
        roles = schedlab.run(small, "rr", seed=seed).roles
        seeds = roles.to_polars()["seed"]
        assert seeds.dtype == polars.UInt64 and seeds.to_list() == [seed, seed]
        assert column(roles, "seed") == [str(seed), str(seed)]


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


def cells(frame: schedlab.Frame) -> list[list[str]]:
    """What a notebook shows of a frame: heads, units, rows."""
    rows = re.findall(r"<tr>(.*?)</tr>", frame._repr_html_())
    return [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in rows]


def column(frame: schedlab.Frame, name: str) -> list[str]:
    heads, _, *rows = cells(frame)
    return [row[heads.index(name)] for row in rows]


def test_a_notebook_shows_words(small: dict[str, Any]) -> None:
    events = schedlab.run(small, policy="rr", events=True).events
    for name in ("kind", "source"):
        known = events.to_polars()[name][:10].to_list()
        assert column(events, name) == [word or "-" for word in known], name


def test_a_notebook_shows_the_units_of_rows(small: dict[str, Any]) -> None:
    compared = schedlab.compare(small, "fcfs,rr", runs=3)
    metrics = column(compared.differences, "metric")
    for name in ("difference", "difference_interval.low"):
        by_metric = dict(zip(metrics[:4], column(compared.differences, name), strict=False))
        assert re.fullmatch(r"−?[\d.]+ ms", by_metric["response_ns.mean"]), by_metric
        assert by_metric["throughput_per_s"].endswith(" per s"), by_metric
    assert column(compared.differences, "difference")[3] == "0 %"
    assert "verdict" in cells(compared.differences)[0], "columns without a value make room"
    means = dict(zip(column(compared.means, "metric"), column(compared.means, "value"), strict=True))
    assert means["count"] == "2" and re.fullmatch(r"[\d.]+ ms", means["cpu_ns"]), means


def test_a_frame_is_short_in_a_line(small: dict[str, Any]) -> None:
    result = schedlab.run({**small, "task": small["task"][:1]}, policy="rr")
    roles = result.roles
    first = ", ".join(roles.columns[:12])
    assert repr(roles) == f"Frame of 1 row: {first} and {len(roles.columns) - 12} more columns"
    assert len(repr(result.means)) < 150
