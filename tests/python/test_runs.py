"""`run` and `compare`."""

import json
from pathlib import Path
from typing import Any

import polars
import pytest

import schedlab
from conftest import CommandLine


def test_a_run_is_that_of_the_command_line(command_line: CommandLine) -> None:
    arguments = ("heavy-load", "--policy", "rr:quantum=5ms", "--seed", "3", "--quiet")
    result = schedlab.run("heavy-load", policy="rr:quantum=5ms", seed=3)
    assert result.data == json.loads(command_line.out("run", *arguments, "--json"))
    assert str(result) == command_line.out("run", *arguments)


def test_a_comparison_is_that_of_the_command_line(command_line: CommandLine, small: dict[str, Any]) -> None:
    (command_line.folder / "small.toml").write_text(schedlab.Scenario(**small).to_toml())
    arguments = ("compare", "small.toml", "--policy", "rr,mlfq", "--runs", "5", "--quiet")
    comparison = schedlab.compare(small, policy="rr,mlfq", runs=5)
    assert comparison.data == json.loads(command_line.out(*arguments, "--json"))
    assert str(comparison) == command_line.out(*arguments)
    assert comparison.policies == ["rr", "mlfq"] and comparison.failures == []


def test_frames_have_a_row_for_each_run_and_part(small: dict[str, Any]) -> None:
    comparison = schedlab.compare(small, policy=["rr", "mlfq"], runs=3)
    roles = comparison.roles.to_polars()
    assert len(roles) == len(comparison.roles) == 2 * 3 * 2
    assert roles["seed"].n_unique() == 3 and roles["policy"].unique().sort().to_list() == ["mlfq", "rr"]
    assert roles.schema["cpu_share"] == polars.Float64 and roles.schema["requests"] == polars.Int64
    first = schedlab.run(small, policy="rr").data["roles"][0]
    row = roles.row(0, named=True)
    assert (row["name"], row["response_ns.p99"]) == ("worker", first["response_ns"]["p99"])
    assert len(comparison.tasks) == 2 * 3 * 3 and len(comparison.cpus) == 2 * 3
    assert comparison.tasks.to_pandas().shape[0] == 18
    differences = comparison.differences.to_polars()
    assert set(differences["policy"]) == {"mlfq"} and "ratio" in differences.columns


def test_the_seed_decides(small: dict[str, Any]) -> None:
    one, same, other = (schedlab.run(small, policy="rr", seed=seed).data["roles"] for seed in (1, 1, 2))
    assert one == same and one != other


def test_events_are_those_of_a_trace(small: dict[str, Any], command_line: CommandLine) -> None:
    events = schedlab.run(small, policy="rr", events=True).events
    path = command_line.folder / "t.parquet"
    (command_line.folder / "small.toml").write_text(schedlab.Scenario(**small).to_toml())
    command_line.out("run", "small.toml", "--policy", "rr", "--quiet", "--trace", str(path))
    trace = schedlab.read_trace(path)
    assert events.to_polars().equals(trace.events.to_polars())
    assert trace.header["scenario"] == "small" and trace.header["seed"] == 7
    assert polars.read_parquet(path).equals(trace.events.to_polars())
    perfetto = command_line.folder / "t.pftrace"
    command_line.out("run", "small.toml", "--policy", "rr", "--quiet", "--trace", str(perfetto))
    assert schedlab.read_trace(perfetto).events.to_polars().equals(events.to_polars())
    with pytest.raises(AttributeError, match="events=True"):
        _ = schedlab.run(small, policy="rr").events


def test_charts_are_drawn_from_the_pages_specifications(small: dict[str, Any], tmp_path: Path) -> None:
    comparison = schedlab.compare(small, policy="rr,mlfq")
    assert "response-distribution" in comparison.charts, list(comparison.charts)
    for name in comparison.charts:
        chart = comparison.charts[name].to_dict()
        assert chart["description"] and chart["data"], name
    with pytest.raises(KeyError, match="there is no chart 'nothing'"):
        comparison.charts["nothing"]
    comparison.save(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert page.startswith("<!doctype html>") and "schedlab.compare(" in page


def test_a_policy_that_fails_is_told(small: dict[str, Any]) -> None:
    starving = schedlab.Scenario(**small).replace(
        {"run.duration": "40s", "task.worker.loop.0.compute": "60s", "task.worker.count": 1}
    )
    with pytest.raises(schedlab.RunError, match=r"^policy fcfs: the policy failed at ") as caught:
        schedlab.run(starving, policy="fcfs")
    comparison = schedlab.compare(starving, policy="fcfs,rr")
    assert comparison.policies == ["rr"] and comparison.failures == [str(caught.value)]


def test_what_ships_is_listed(command_line: CommandLine) -> None:
    names = [policy.name for policy in schedlab.policies()]
    assert {"rr", "cfs", "eevdf", "ps"} <= set(names) and all(policy.about for policy in schedlab.policies())
    listed = command_line.out("policies")
    assert all(f"  {name} " in listed for name in names)
    assert {"heavy-load"} <= {scenario.name for scenario in schedlab.scenarios()}
    assert "gpos" in schedlab.studies()
    assert schedlab.schema("result") == json.loads(command_line.out("schema", "result"))


def test_a_real_kernel_runs_it_in_virtual_time(small: dict[str, Any]) -> None:
    one, same = (schedlab.run(small, policy="kernel", venue="vm", kernel="debian:12").data for _ in range(2))
    assert one == same and one["venue"] == "vm" and one["roles"][0]["requests"] > 0
