"""Searches: the same faults from the command line, from Python, and from a cluster whose workers die."""

import json
from pathlib import Path
from typing import Any

import pytest
from distributed import Client, LocalCluster

import schedlab
from conftest import CommandLine, a_worker_dies

FLAGS = ("--scenarios", "160", "--longest-wait", "300ms", "--quiet")


def test_the_same_faults_are_found_wherever_it_is_searched(command_line: CommandLine, tmp_path: Path) -> None:
    by_shell = json.loads(command_line.run("search", "--policy", "fcfs", "--json", *FLAGS).stdout)
    here = schedlab.search("fcfs", scenarios=160, longest_wait="300ms", output=tmp_path / "here")
    assert here.data == by_shell and here.scenarios == 160
    assert "long-wait" in [fault.name for fault in here.faults]
    fault = here.faults[0]
    assert (tmp_path / "here" / f"{fault.name}.toml").read_text() == fault.text
    assert str(here).startswith(f"{len(here.faults)} faults of fcfs in 160 scenarios from seed 1.")
    make_cluster: Any = LocalCluster
    make_client: Any = Client
    with (
        make_cluster(n_workers=3, threads_per_worker=1, dashboard_address=":0") as cluster,
        make_client(cluster) as client,
    ):
        flags: dict[str, Any] = {"longest_wait": "300ms", "output": tmp_path / "there", "client": client}
        with a_worker_dies(client):
            there = schedlab.search("fcfs", scenarios=100, **flags)
        assert there.scenarios == 100
        # The same call with more goes on.
        there = schedlab.search("fcfs", scenarios=160, **flags)
        with pytest.raises(schedlab.InputError, match="write `scenarios`"):
            schedlab.search("fcfs", client=client)
    assert there.data == by_shell


def test_what_cannot_be_searched_is_one_line() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"scenarios": 1, "budget": "1s"}, "keep one"),
        ({"ignore": ["stal"]}, "nothing is called `stal`"),
        ({"jain": 2.0}, "a number from 0 to 1"),
        ({"longest_wait": "soon"}, "longest_wait"),
    ]
    for flags, part in cases:
        with pytest.raises(schedlab.InputError, match=part):
            schedlab.search("rr", **flags)
