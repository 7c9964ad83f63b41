"""Sweeps, on this machine or on many."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

from . import _schedlab
from ._schedlab import Frame

if TYPE_CHECKING:
    from distributed import Client


@dataclass(frozen=True)
class Sweep:
    """A sweep's table."""

    folder: str | PathLike[str]
    """Where it lies: Parquet files that together are the table."""
    frame: Frame
    """A row for each run and role; of a run that failed one with its ``error``.

    Columns: ``run``, each axis by its path, ``policy``, ``venue``, ``seed``, ``role``, the measures that were asked
    for, as in `Result.roles`, and ``error``.
    """
    runs: int
    """How many runs there are."""
    made: int
    """How many of these are new; the others existed before."""
    failed: int
    """How many of all failed."""


def sweep(
    spec: dict[str, Any] | str | PathLike[str],
    output: str | PathLike[str],
    *,
    seed: int | None = None,
    threads: int | None = None,
    client: Client | None = None,
) -> Sweep:
    """Runs a scenario over many values, policies and seeds into one table.

    Runs that are already in the folder are not repeated, so a call that was interrupted resumes.

    :param spec: a sweep file, or a dictionary with its keys
    :param output: the folder of the table
    :param seed: the first seed, for a sweep that is a dictionary
    :param threads: how many runs happen in parallel on this machine; all cores by default
    :param client: a Dask client, whose workers then make the runs. A worker that dies costs only its runs. Names
        of files in the sweep must mean the same there. Needs distributed: ``pip install schedlab[dask]``
    :raises InputError: a value does not fit, or a name does not exist
    """
    if seed is not None:
        if not isinstance(spec, dict):
            raise TypeError("sweep: `seed` goes with a dictionary; a file says its own")
        spec = {**spec, "seed": seed}
    plan = _schedlab.Plan(spec, threads)
    table = _schedlab.Table(output, plan)
    missing = len(table.missing())
    if client is None:
        table.carry_out(plan, threads)
    else:
        from ._dask import carry_out

        carry_out(client, spec, plan, table)
    return Sweep(output, table.frame(plan), len(plan), missing - len(table.missing()), table.failed())
