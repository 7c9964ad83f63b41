"""Studies."""

from __future__ import annotations

import json
from functools import cached_property
from os import PathLike, fspath
from typing import Any

from . import _schedlab
from ._arguments import checked
from ._call import Call, call
from ._charts import Charts
from ._schedlab import Frame
from ._shown import Shown, counted, page_file


class Study(Shown):
    """What a study came to. `print` shows it as the command line does."""

    def __init__(self, page: _schedlab.StudyPage, call: Call) -> None:
        self._page = page
        self._call = call

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

    @cached_property
    def charts(self) -> Charts:
        """The charts of the page, as Altair objects: ``charts["published"]`` has each published value with what was
        seen; the others are pictures as the source has them."""
        return Charts(self._page.charts(), "the study has neither published values nor pictures")

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the page that `schedlab study --report` writes.

        :raises InputError: the name of the file ends in something else than ``.html``
        """
        page_file(path).write_text(self._page.html(self._call.text), encoding="utf-8")

    def __str__(self) -> str:
        return self._page.show()

    def __repr__(self) -> str:
        return f"Study({self.data['name']!r}, {counted(len(self.values), 'published value')})"


@checked
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

    :param name: a shipped study, or a file; or one of its questions, as in ``"gpos:priorities"``
    :param quick: whether to run a smaller version
    :param seed: the first one of every case, instead of that of its scenario: do the published values hold there too?
    :param seeds: under how many seeds simulated values are judged; where nothing is random, small changes instead
    :param fresh: whether to ignore the cache and repeat all runs
    :param threads: how many simulated runs happen in parallel; all cores by default
    :raises InputError: there is no such study, or it cannot be run
    """
    given = dict(locals())
    page = _schedlab.study(fspath(name), quick=quick, seed=seed, seeds=seeds, fresh=fresh, threads=threads)
    return Study(page, call(study, given))
