"""Studies."""

from __future__ import annotations

import json
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from . import _schedlab
from ._runs import _Shown
from ._schedlab import Frame


class Study(_Shown):
    """What a study came to. `print` shows it as the command line does."""

    def __init__(self, page: _schedlab.StudyPage, command: str) -> None:
        self._page = page
        self._command = command

    @cached_property
    def data(self) -> dict[str, Any]:
        """Questions, tables, published values and what was seen."""
        data: dict[str, Any] = json.loads(self._page.data())
        return data

    @cached_property
    def values(self) -> Frame:
        """A row for each published value, with what was seen and whether it holds.

        Columns: ``question``, ``what``, ``place`` in the source, ``published`` and ``seen`` (both in ``unit``),
        ``verdict``, and its ``reason`` where it does not hold.
        """
        return self._page.values()

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the page that `schedlab study --report` writes."""
        Path(path).write_text(self._page.html(self._command), encoding="utf-8")

    def __str__(self) -> str:
        return self._page.show()

    def __repr__(self) -> str:
        return f"Study({self.data['name']!r}, {len(self.values)} published values)"


def study(
    name: str | PathLike[str],
    *,
    quick: bool = False,
    seed: int | None = None,
    seeds: int = 5,
    fresh: bool = False,
    threads: int | None = None,
) -> Study:
    """Runs a study: published questions, their runs, and published values compared with measured ones.

    Runs in the cache are not repeated.

    :param name: a shipped study, or a file
    :param quick: whether to run a smaller version
    :param seed: the first one of every case, instead of that of its scenario: do the published values hold there too?
    :param seeds: under how many seeds simulated values are judged; where nothing is random, small changes instead
    :param fresh: whether to ignore the cache and repeat all runs
    :param threads: how many simulated runs happen in parallel; all cores by default
    :raises InputError: there is no such study, or it cannot be run
    """
    page = _schedlab.study(fspath(name), quick=quick, seed=seed, seeds=seeds, fresh=fresh, threads=threads)
    return Study(page, f"schedlab.study({fspath(name)!r}, quick={quick}, seed={seed})")
