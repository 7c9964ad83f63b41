"""Scores."""

from __future__ import annotations

import json
from functools import cached_property
from os import PathLike, fspath
from typing import Any

from . import _schedlab
from ._arguments import checked
from ._runs import PolicySource
from ._schedlab import Frame
from ._shown import Shown


class Score(Shown):
    """The score of a policy. `print` shows it as the command line does."""

    def __init__(self, scored: _schedlab.Scored) -> None:
        self._scored = scored

    @cached_property
    def data(self) -> dict[str, Any]:
        """All of it, as `schedlab score --json` prints it."""
        data: dict[str, Any] = json.loads(self._scored.data())
        return data

    @property
    def score(self) -> float:
        """How many times better the policy is than the reference (no unit); 0 if a run failed or a bound does not hold.

        The weighted geometric mean of ratios; `docs/reference/score.md` has the formula.
        """
        return float(self.data["score"])

    @property
    def interval(self) -> tuple[float, float] | None:
        """The ends of its 95 % interval over seeds (Student's t); None with one seed, or if all give the same."""
        interval = self.data.get("interval")
        return None if interval is None else (interval[0], interval[1])

    @property
    def failures(self) -> list[str]:
        """Why the score is 0; empty if it is not."""
        return [": ".join(filter(None, (one.get("scenario"), one["why"]))) for one in self.data["failures"]]

    @cached_property
    def items(self) -> Frame:
        """A row for each metric of a role or run in a scenario.

        Columns: ``held_out``, ``part``, ``scenario``, ``path``, ``unit``, ``value`` and ``reference`` (both in
        ``unit``), ``ratio`` (how many times better), ``note``.
        """
        return self._scored.items()

    def __str__(self) -> str:
        return self._scored.show()

    def __repr__(self) -> str:
        return f"Score({self.data['policy']!r}, {self.score:.4g})"


@checked
def score(
    file: str | PathLike[str],
    policy: PolicySource,
    *,
    held_out: bool = False,
    fresh: bool = False,
    threads: int | None = None,
) -> Score:
    """Scores a policy on the scenarios of a score file. The same call gives the same number.

    The policy runs in this process, without the limits of `schedlab score`. The reference runs once and is cached.

    :param file: the score file; `docs/reference/score.md` describes it
    :param policy: a policy as on the command line, a path, or a class
    :param held_out: whether to score the held-out scenarios too
    :param fresh: whether to ignore the cache
    :param threads: how many runs happen in parallel; all cores by default
    :raises InputError: the file or the policy cannot be used
    """
    return Score(_schedlab.score(fspath(file), policy, held_out=held_out, fresh=fresh, threads=threads))
