"""Runs of sweeps and searches on the workers of a Dask cluster."""

from __future__ import annotations

import json
from collections.abc import Iterator
from os import fspath
from pathlib import Path
from typing import Any

from distributed import Client, as_completed

from . import _schedlab
from .errors import RunError

RUNS_PER_PART = 64
"""Runs that a worker makes in one go. If it dies, they are lost and another worker repeats them."""


def carry_out(client: Client, spec: Any, plan: _schedlab.Plan, table: _schedlab.Table) -> None:
    """Makes what the table lacks on the workers of a cluster, and keeps each part when it comes."""
    text = plan.text()
    missing = table.missing()
    chunks = [missing[at : at + RUNS_PER_PART] for at in range(0, len(missing), RUNS_PER_PART)]
    source = str(Path(fspath(spec)).resolve()) if text is None else text
    # Workers that die take nothing with them but what they were doing.
    futures = client.map(_part, chunks, spec=source, is_file=text is None, pure=False, retries=10)
    try:
        for _, part in as_completed(futures, with_results=True):  # type: ignore[no-untyped-call]
            table.add(plan, part)
    except BaseException:
        client.cancel(futures)  # type: ignore[no-untyped-call]
        raise
    if left := table.missing():
        raise RunError(f"{len(left)} runs are missing; the same call goes on with them")


def _part(runs: list[int], *, spec: str, is_file: bool) -> bytes:
    return _plan(spec, is_file).make(runs)


_plans: dict[str, _schedlab.Plan] = {}
"""The plan of a worker's sweep, made once for all its parts."""


def _plan(spec: str, is_file: bool) -> _schedlab.Plan:
    if spec not in _plans:
        _plans.clear()
        _plans[spec] = _schedlab.Plan(spec if is_file else json.loads(spec), 1)
    return _plans[spec]


SCENARIOS_PER_PART = 64
"""Scenarios of a search that a worker runs in one go."""


def search_parts(client: Client, policy: str, flags: dict[str, Any], first: int, end: int) -> Iterator[str]:
    """Searches the scenarios of the seeds from `first` up to `end`, and gives the parts in their order."""
    seeds = list(range(first, end, SCENARIOS_PER_PART))
    counts = [min(SCENARIOS_PER_PART, end - seed) for seed in seeds]
    futures = client.map(_search, seeds, counts, policy=policy, flags=flags, pure=False, retries=10)
    try:
        for future in futures:
            yield future.result()
    except BaseException:
        client.cancel(futures)  # type: ignore[no-untyped-call]
        raise


def _search(seed: int, scenarios: int, *, policy: str, flags: dict[str, Any]) -> str:
    hunt = _schedlab.Hunt(policy, **flags, seed=seed, folder=None)
    hunt.go_on(scenarios, None, 1)
    return hunt.data()
