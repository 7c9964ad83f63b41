"""Searches for faults of policies."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from . import _schedlab
from ._arguments import checked
from ._runs import PolicySource
from ._shown import Shown, counted
from .errors import InputError

if TYPE_CHECKING:
    from distributed import Client


@dataclass(frozen=True)
class Fault:
    """A fault and the smallest scenario that shows it."""

    name: str
    """What kind of fault it is, as in ``stall``; `docs/reference/search.md` lists them."""
    what: str
    """What was seen, in a sentence."""
    seed: int
    """The first seed whose scenario showed it."""
    times: int
    """How many scenarios showed it."""
    text: str
    """The smallest scenario, as a file."""
    lines: int
    """How many of its lines are neither empty nor comments."""
    kernel: dict[str, Any] | None
    """What a kernel showed in the same scenario, if one was asked: ``kernel``, ``verdict`` and ``what``."""


class Search(Shown):
    """What a search found."""

    def __init__(self, policy: str, hunt: _schedlab.Hunt) -> None:
        self._policy = policy
        self._names = hunt.names()
        self.data: dict[str, Any] = json.loads(hunt.data())
        """All of it, as `schedlab search --json` prints it."""

    @property
    def scenarios(self) -> int:
        """How many scenarios were run."""
        return int(self.data["scenarios"])

    @property
    def faults(self) -> list[Fault]:
        """What is wrong with the policy, in the order of the seeds."""
        return [
            Fault(
                name=name,
                what=one["finding"]["what"],
                seed=one["seed"],
                times=one["times"],
                text=one["text"],
                lines=one["lines"],
                kernel=one.get("kernel"),
            )
            for name, one in zip(self._names, self.data["found"], strict=True)
        ]

    def __str__(self) -> str:
        faults = self.faults
        found, among = counted(len(faults), "fault"), counted(self.scenarios, "scenario")
        head = f"{found} of {self._policy} in {among} from seed {self.data['seed']}."
        each = (
            f"{one.name}: {one.what}. Seed {one.seed}, {counted(one.lines, 'line')}.{_in_kernel(one.kernel)}"
            for one in faults
        )
        return "\n".join([head, *each])

    def __repr__(self) -> str:
        return f"Search({self._policy!r}, scenarios={self.scenarios}, faults={[one.name for one in self.faults]})"


def _in_kernel(seen: dict[str, Any] | None) -> str:
    """What a kernel showed, as a sentence."""
    if seen is None:
        return ""
    shows = {"same": "shows it, too", "not": "does not show it"}.get(seen["verdict"], "could not be asked")
    return f" {seen['kernel']} {shows}: {seen['what']}."


@checked
def search(
    policy: PolicySource,
    *,
    seed: int = 1,
    scenarios: int | None = None,
    budget: str | None = None,
    longest_wait: str | None = None,
    idle: float | None = None,
    jain: float | None = None,
    ignore: Sequence[str] = (),
    against: PolicySource | None = None,
    coverage: bool = False,
    kernel: str | None = None,
    output: str | PathLike[str] | None = None,
    threads: int | None = None,
    client: Client | None = None,
) -> Search:
    """Draws scenarios at random, runs a policy in them, and makes each fault that it finds as small as it can.

    The same number of scenarios finds the same faults, here, from the command line, and on a cluster.

    :param policy: a policy as on the command line, a path, or a class
    :param seed: the first seed
    :param scenarios: how many scenarios to run, those that ``output`` already has included
    :param budget: the most wall time instead, as in ``"5min"``, which is what you get without either
    :param longest_wait: also find tasks that wait longer than this for a CPU, as in ``"1s"``
    :param idle: also find CPUs that idle for more than this part of their time (0 to 1) while tasks wait
    :param jain: also find equal tasks whose parts have a Jain index below this (0 to 1)
    :param ignore: names of faults that are known
    :param against: a policy that is right: what it shows too is no fault
    :param coverage: whether to note which source lines of the policy were executed
    :param kernel: also run what is found in this kernel, in a virtual machine
    :param output: the folder for scenarios and progress; the same call resumes there
    :param threads: how many runs happen in parallel on this machine; all cores by default
    :param client: a Dask client, whose workers then run the scenarios. It needs ``scenarios``, and a policy whose name
        or path means the same there. Needs distributed: ``pip install schedlab[dask]``
    :raises InputError: the request is impossible
    """
    if scenarios is not None and budget is not None:
        raise InputError("`scenarios` and `budget` both say when to stop: keep one")
    flags: dict[str, Any] = {
        "longest_wait": longest_wait,
        "idle": idle,
        "jain": jain,
        "ignore": list(ignore),
        "against": against,
        "coverage": coverage,
        "kernel": kernel,
    }
    hunt = _schedlab.Hunt(policy, **flags, seed=seed, folder=output)
    if client is None:
        hunt.go_on(scenarios, budget or ("5min" if scenarios is None else None), threads)
    else:
        _on_cluster(client, hunt, policy, flags, seed, scenarios)
    name = fspath(policy) if isinstance(policy, str | PathLike) else policy.__name__
    return Search(str(name), hunt)


def _on_cluster(
    client: Client,
    hunt: _schedlab.Hunt,
    policy: PolicySource,
    flags: dict[str, Any],
    seed: int,
    scenarios: int | None,
) -> None:
    if scenarios is None:
        raise InputError("a cluster searches a number of scenarios: write `scenarios`")
    if not isinstance(policy, str | PathLike):
        raise InputError("a cluster needs a policy with a name or a path: a class is known only here")
    from ._dask import search_parts

    first = seed + hunt.scenarios()
    for part in search_parts(client, fspath(policy), flags, first, seed + scenarios):
        hunt.take(part)
