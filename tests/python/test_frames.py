"""Frames cross to other libraries without being copied."""

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


def test_an_empty_frame_is_one_too(small: dict[str, Any]) -> None:
    tasks = schedlab.run({**small, "task": [{**small["task"][0], "count": 300}]}, policy="rr").tasks
    assert len(tasks) == 0 and len(tasks.to_polars()) == 0


def test_a_library_that_is_missing_is_told(small: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ImportError, match=r"pip install schedlab\[polars\]"):
        schedlab.run(small, policy="rr").groups.to_polars()
