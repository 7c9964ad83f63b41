"""Sweeps: the same table from the command line, from Python, and from a cluster whose workers die."""

from pathlib import Path
from typing import Any

import numpy
import polars
import pytest
from distributed import Client, LocalCluster

import schedlab
from conftest import CommandLine, a_worker_dies

SPEC = """
policy = ["rr", "mlfq"]
runs = 4
measures = ["response_ns.mean", "jain"]

[scenario]
machine = { cpus = 1 }
run = { duration = "100ms" }
[[scenario.task]]
name = "a"
count = 2
loop = [{ compute = "exp(2ms)" }]

[axis]
task.a.count = { from = 1, to = 50, step = 1 }
"""

DICTIONARY: dict[str, Any] = {
    "policy": ["rr", "mlfq"],
    "runs": 4,
    "measures": ["response_ns.mean", "jain"],
    "scenario": {
        "machine": {"cpus": 1},
        "run": {"duration": "100ms"},
        "task": [{"name": "a", "count": 2, "loop": [{"compute": "exp(2ms)"}]}],
    },
    "axis": {"task.a.count": {"from": 1, "to": 50, "step": 1}},
}


def rows(frame: schedlab.Frame) -> bytes:
    """All rows as bytes, sorted."""
    return frame.to_polars().sort("run", "role").write_csv().encode()


def of_folder(folder: Path) -> bytes:
    return polars.read_parquet(folder / "part-*.parquet").sort("run", "role").write_csv().encode()


def test_the_table_is_the_same_wherever_it_is_made(command_line: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "sweep.toml").write_text(SPEC)
    command_line.out("sweep", "sweep.toml", "-o", "shell", "--quiet")
    by_shell = of_folder(tmp_path / "shell")
    assert by_shell.count(b"\n") == 1 + 2 * 4 * 50
    sweep = schedlab.sweep(tmp_path / "sweep.toml", tmp_path / "file")
    assert (sweep.runs, sweep.made, sweep.failed) == (400, 400, 0)
    lines = sweep.charts.specification("axis-0")
    assert {row["scheduler"] for row in lines["data"]["values"]} == {"rr", "mlfq"}
    assert len(lines["data"]["values"]) == 2 * 2 * 50
    sweep.save(tmp_path / "sweep.html")
    assert "By task.a.count" in (tmp_path / "sweep.html").read_text()
    assert str(sweep).startswith(f"sweep\n400 runs in {tmp_path / 'file'}: 400 new, 0 from before\n400 rows with the ")
    assert repr(sweep) == f"Sweep('{tmp_path / 'file'}', 400 runs, made=400, failed=0)"
    assert sweep._repr_html_().startswith("<pre>sweep\n400 runs in ")
    assert rows(sweep.frame) == of_folder(tmp_path / "file") == by_shell
    assert rows(schedlab.sweep(DICTIONARY, tmp_path / "dictionary").frame) == by_shell
    assert schedlab.sweep(DICTIONARY, tmp_path / "file").made == 0
    make_cluster: Any = LocalCluster
    make_client: Any = Client
    with (
        make_cluster(n_workers=3, threads_per_worker=1, dashboard_address=":0") as cluster,
        make_client(cluster) as client,
    ):
        with a_worker_dies(client):
            done = schedlab.sweep(DICTIONARY, tmp_path / "cluster", client=client)
    assert done.made == 400 and of_folder(tmp_path / "cluster") == by_shell


def test_what_is_there_is_not_run_again(tmp_path: Path) -> None:
    fewer = {**DICTIONARY, "axis": {"task.a.count": [1, 2, 3]}}
    assert schedlab.sweep(fewer, tmp_path).made == 24
    more = {**DICTIONARY, "axis": {"task.a.count": [2, 3, 4]}}
    sweep = schedlab.sweep(more, tmp_path)
    assert (sweep.runs, sweep.made) == (24, 8)
    assert sorted(set(sweep.frame.to_polars()["task.a.count"])) == [2, 3, 4]


def test_numbers_of_python_and_numpy_are_values(tmp_path: Path) -> None:
    from_numpy = {**DICTIONARY, "axis": {"task.a.count": numpy.arange(1, 3)}, "runs": numpy.int64(1)}
    from_range = {**DICTIONARY, "axis": {"task.a.count": range(1, 3)}, "runs": 1}
    first, second = schedlab.sweep(from_numpy, tmp_path), schedlab.sweep(from_range, tmp_path)
    assert (first.made, second.made) == (4, 0)


def test_a_scenario_may_be_an_object(small: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    scenario = schedlab.Scenario(**small)
    spec: dict[str, Any] = {"policy": "rr", "runs": 2, "measures": ["response_ns.mean"]}
    by_object = schedlab.sweep({**spec, "scenario": scenario}, "object")
    Path("small.toml").write_text(scenario.to_toml())
    by_file = schedlab.sweep({**spec, "scenario": Path("small.toml")}, "file")
    by_keys = schedlab.sweep({**spec, "scenario": small}, "keys")
    assert rows(by_object.frame) == rows(by_file.frame) == rows(by_keys.frame)
    by_object.save("page.html")
    page = Path("page.html").read_text()
    assert "# small.toml is listed below: save it first." in page and "<summary>small.toml</summary>" in page
    schedlab.run({**small, "run": {"duration": "4s"}}, "rr", trace="rec.parquet", for_model=True)
    recorded = schedlab.model("rec.parquet", "model.toml").scenario
    by_object = schedlab.sweep({**spec, "scenario": recorded}, "recorded")
    by_file = schedlab.sweep({**spec, "scenario": "model.toml"}, "model")
    assert rows(by_object.frame) == rows(by_file.frame)
    assert schedlab.Scenario.from_file("model.toml") == recorded
    assert schedlab.run(schedlab.Scenario.from_file("model.toml"), "rr").data["roles"]


def test_a_cluster_takes_what_this_machine_takes(small: dict[str, Any], tmp_path: Path) -> None:
    make_client: Any = Client
    spec: dict[str, Any] = {"policy": "rr", "runs": numpy.int64(2), "axis": {"machine.cpus": range(1, 3)}}
    spec["scenario"] = schedlab.Scenario(**small)
    here = schedlab.sweep(spec, tmp_path / "here")
    with make_client(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0") as client:
        there = schedlab.sweep(spec, tmp_path / "there", client=client)
    assert there.made == 4 and rows(there.frame) == rows(here.frame)


def test_a_class_is_no_value_of_a_sweep(tmp_path: Path) -> None:
    class Mine(schedlab.policy.Policy):
        pass

    with pytest.raises(schedlab.InputError, match=r"^sweep\.policy\[0\]: what a policy in Python decides"):
        schedlab.sweep({**DICTIONARY, "policy": [Mine]}, tmp_path)


def test_the_seed_of_a_dictionary_can_be_given(tmp_path: Path) -> None:
    one = {**DICTIONARY, "axis": {}, "runs": 1}
    means = [
        schedlab.sweep(one, tmp_path / str(seed), seed=seed).frame.to_polars()["response_ns.mean"][0] for seed in (1, 2)
    ]
    assert means[0] != means[1]
    with pytest.raises(TypeError, match="goes with a dictionary"):
        schedlab.sweep("sweep.toml", tmp_path, seed=1)


def test_parts_of_another_sweep_are_refused(tmp_path: Path) -> None:
    plan = schedlab._schedlab.Plan(DICTIONARY)
    other = schedlab._schedlab.Plan({**DICTIONARY, "seed": 9})
    table = schedlab._schedlab.Table(tmp_path, plan)
    for part in (other.make([0]), b"", b"PAR1", plan.make([0])[:-9]):
        with pytest.raises(schedlab.InputError, match="this is not a part of a sweep"):
            table.add(plan, part)
    table.add(plan, plan.make([3]))
    assert len(table.missing()) == len(plan) - 1
    with pytest.raises(IndexError):
        plan.make([400])
