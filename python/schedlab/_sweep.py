"""Sweeps, on this machine or on many."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from . import _schedlab
from ._arguments import checked
from ._call import Call, call
from ._charts import Charts
from ._schedlab import Frame
from ._shown import Shown, counted, page_file

if TYPE_CHECKING:
    from distributed import Client


@dataclass(frozen=True, repr=False)
class Sweep(Shown):
    """A sweep's table, with charts of it. `print` shows how many runs it has, and its columns."""

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
    _plan: _schedlab.Plan = field(repr=False, compare=False)
    _table: _schedlab.Table = field(repr=False, compare=False)
    _call: Call = field(repr=False, compare=False)

    @cached_property
    def charts(self) -> Charts:
        """The charts of the page, as Altair objects, by the number of their axis: ``charts["axis-0"]``, or
        ``charts["axis-0-response_ns.p99"]`` where there are several roles."""
        return Charts(self._table.charts(self._plan), "the sweep has no axis")

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the page with charts that `schedlab sweep --report` writes.

        :raises InputError: the name of the file ends in something else than ``.html``
        """
        listings = [*self._call.listings, *self._call.scenarios]
        page_file(path).write_text(self._table.html(self._plan, self._call.text, listings), encoding="utf-8")

    def __str__(self) -> str:
        failed = f"; {self.failed} failed, see the column `error`" if self.failed else ""
        known = f"{self.made} new, {self.runs - self.made} from before"
        runs = f"{counted(self.runs, 'run')} in {fspath(self.folder)}: {known}{failed}"
        rows = f"{counted(len(self.frame), 'row')} with the columns {', '.join(self.frame.columns)}"
        return f"{self._plan.title}\n{runs}\n{rows}"

    def __repr__(self) -> str:
        return f"Sweep({fspath(self.folder)!r}, {counted(self.runs, 'run')}, made={self.made}, failed={self.failed})"


@checked
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

    :param spec: a sweep file, or a dictionary with its keys, where ``scenario`` may be a `Scenario`
    :param output: the folder of the table
    :param seed: the first seed, for a sweep that is a dictionary
    :param threads: how many runs happen in parallel on this machine; all cores by default
    :param client: a Dask client, whose workers then make the runs. A worker that dies costs only its runs. Names
        of files in the sweep must mean the same there. Needs distributed: ``pip install schedlab[dask]``
    :raises InputError: a value does not fit, or a name does not exist
    """
    # Where the runs are made does not matter to their numbers.
    given = {**locals(), "client": None}
    if seed is not None:
        if not isinstance(spec, dict):
            raise TypeError("seed: it goes with a dictionary; a file says its own")
        spec = {**spec, "seed": seed}
    plan = _schedlab.Plan(spec, threads)
    table = _schedlab.Table(output, plan)
    missing = len(table.missing())
    if client is None:
        table.carry_out(plan, threads)
    else:
        from ._dask import carry_out

        carry_out(client, spec, plan, table)
    made = missing - len(table.missing())
    return Sweep(output, table.frame(plan), len(plan), made, table.failed(), plan, table, call(sweep, given))
