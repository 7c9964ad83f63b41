"""Gates."""

from __future__ import annotations

import json
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from . import _schedlab
from ._arguments import checked
from ._call import Call, call
from ._charts import Charts
from ._schedlab import Frame
from ._shown import Shown
from .errors import InputError


class Gate(Shown):
    """The checks of a gate. `print` shows those that failed or changed, as the command line does."""

    def __init__(self, gated: _schedlab.Gated, call: Call) -> None:
        self._gated = gated
        self._call = call

    @cached_property
    def data(self) -> dict[str, Any]:
        """All of it, as `schedlab gate --json` prints it."""
        data: dict[str, Any] = json.loads(self._gated.data())
        return data

    @property
    def passed(self) -> bool:
        """Whether every check has a value, and all bounds hold; with ``update=True``, those that now count."""
        counts = self.data["counts"]
        return not (counts["failed"] or counts["absent"] or counts["inconclusive"])

    @property
    def counts(self) -> dict[str, int]:
        """How many ``checks`` there are, and of these ``failed``, ``absent`` (without a value), ``inconclusive``,
        ``better`` and ``within`` (changed within what is allowed)."""
        return dict(self.data["counts"])

    @cached_property
    def checks(self) -> Frame:
        """A row for each check; those that failed first.

        Columns: ``scenario``, ``policy``, ``venue``, ``metric`` (its path in a result), ``unit``, ``against`` (the
        baseline, a revision or another policy; null for an absolute bound), ``from.number`` and ``to.number`` (both in
        ``unit``), ``verdict``, ``why``. ``allowed.least`` and ``allowed.most`` are the greatest decrease and increase
        that the bounds allow, in ``unit``; null where a side has no bound. Where runs differ by chance, ``change.low``
        and ``change.high`` are the ends of the interval of the difference. All intervals of a gate together hold with
        95 %.
        """
        return self._gated.checks()

    @cached_property
    def charts(self) -> Charts:
        """The charts of the page, as Altair objects: ``charts["changes"]``, none where no value is
        held against another."""
        return Charts(self._gated.charts(), "no value is held against another")

    def to_junit(self) -> str:
        """The checks as JUnit XML, as `schedlab gate --junit` writes them."""
        return self._gated.junit()

    def to_markdown(self) -> str:
        """The checks as Markdown, as `schedlab gate --markdown` writes them."""
        return self._gated.markdown()

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the page with the changes as a chart into a file that ends in ``.html``, JUnit XML into one that ends
        in ``.xml``, and Markdown into one that ends in ``.md``.

        :raises InputError: the file ends in something else
        """
        forms = {".html": self._to_html, ".xml": self.to_junit, ".md": self.to_markdown}
        form = forms.get(Path(path).suffix)
        if form is None:
            raise InputError(f"{fspath(path)}: name a file that ends in .html, .xml or .md")
        Path(path).write_text(form(), encoding="utf-8")

    def _to_html(self) -> str:
        return self._gated.html(self._call.text)

    def __str__(self) -> str:
        return self._gated.show(False)

    def __repr__(self) -> str:
        counts = ", ".join(f"{name}={count}" for name, count in self.counts.items())
        return f"Gate({self.data['gate']!r}, {counts})"


@checked
def gate(
    file: str | PathLike[str],
    *,
    update: bool = False,
    build: str | None = None,
    fresh: bool = False,
    threads: int | None = None,
) -> Gate:
    """Runs a gate: scenarios under policies, and bounds for their metrics.

    A check that fails raises nothing: look at `Gate.passed`.

    :param file: the gate file; `docs/reference/gate.md` describes it
    :param update: whether to write the baseline; the checks then compare with the one from before, and what changed is
        accepted
    :param build: a shell command that builds the policies, in the top folder of the repository
    :param fresh: whether to ignore the cache
    :param threads: how many runs happen in parallel; all cores by default
    :raises InputError: the file cannot be used, or there is no baseline yet
    :raises RunError: the baseline cannot be written
    """
    given = dict(locals())
    gated = _schedlab.gate(fspath(file), update=update, build=build, fresh=fresh, threads=threads)
    return Gate(gated, call(gate, given))
