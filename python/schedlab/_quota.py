"""The search for the smallest limit, weight or burst of a control group."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from os import PathLike
from typing import Any

from . import _schedlab
from ._arguments import checked
from ._call import Call, call, check_names
from ._charts import Charts
from ._runs import PolicySource, Source, listed, warn_unused
from ._schedlab import Frame
from ._shown import Shown, page_file


class Limits(Shown):
    """What came of a search. `print` shows it as the command line does."""

    def __init__(self, limits: _schedlab.Limits, call: Call) -> None:
        self._limits = limits
        self._call = call

    @cached_property
    def data(self) -> dict[str, Any]:
        """The whole answer: ``control_group``, ``role``, ``search``, ``statistic``, ``target_ns``, ``runs``, and in
        ``policies`` the curve under each policy. `schema("quota")` describes it."""
        data: dict[str, Any] = json.loads(self._limits.data())
        return data

    @cached_property
    def points(self) -> Frame:
        """A row for each policy and setting that was tried, in increasing order; the last one of each policy is the
        loosest setting (no limit, weight 10000, or a burst of one quota).

        Columns: ``policy``, ``weight`` (null unless it is searched for), ``quota_ns``, ``period_ns`` and ``burst_ns``
        (nanoseconds; the quota is null without a limit), ``value_ns`` (the statistic of the response times, as the mean
        over the runs), ``low_ns`` and ``high_ns`` (the ends of its 95 % interval; null with one run),
        ``throttled_frac`` (the part of the periods that were throttled; null where the policy does not count them),
        ``used_cpus`` (CPUs that the control group used), ``overloaded`` (whether requests come faster than they end),
        and ``meets`` (whether the target is kept).
        """
        return self._limits.points()

    @property
    def least(self) -> dict[str, int | None]:
        """For each policy the least quota or burst (in nanoseconds) or weight from which on all that were tried keep
        the target; none where there is no such."""
        key = {"limit": "least_quota_ns", "weight": "least_weight", "burst": "least_burst_ns"}[self.data["search"]]
        return {curve["policy"]: curve.get(key) for curve in self.data["policies"]}

    @cached_property
    def charts(self) -> Charts:
        """The charts of the page, as Altair objects: ``charts["quota-response"]``; none where only the loosest setting
        was tried, as it misses the target already."""
        return Charts(self._limits.charts(), "only the loosest setting was tried, so there is no curve to draw")

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the page with charts and tables that `schedlab quota --report` writes.

        :raises InputError: the name of the file ends in something else than ``.html``
        """
        page_file(path).write_text(self._limits.html(self._call.text, self._call.listings), encoding="utf-8")

    def __str__(self) -> str:
        return self._limits.show()

    def __repr__(self) -> str:
        return f"Limits({self.data['scenario']!r}, search={self.data['search']!r}, least={self.least})"


@checked
def quota(
    scenario: Source,
    target: str,
    *,
    policy: PolicySource | Sequence[PolicySource] = "eevdf:version=7.3",
    search: str = "limit",
    control_group: str | None = None,
    role: str | None = None,
    period: str | None = None,
    burst: float | None = None,
    limit: str | None = None,
    venue: str = "sim",
    seed: int | None = None,
    runs: int = 1,
    kernel: str | None = None,
    engine: str | None = None,
    load: str = "spin",
    threads: int | None = None,
) -> Limits:
    """Finds the smallest limit, weight or burst of a control group under which response times keep a target.

    The other parameters are those of `run`.

    :param target: a statistic of response times and its bound: ``"p99=20ms"``; the statistics are ``mean``, ``p50``,
        ``p90``, ``p99``, ``p999`` and ``max``
    :param policy: schedulers that support limits or weights, as for `compare`
    :param search: ``limit`` (the quota of ``cpu.max``), ``weight`` (``cpu.weight``) or ``burst`` (``cpu.max.burst`` of
        the limit that the scenario has)
    :param control_group: the path of the control group to change; by default the scenario's only one
    :param role: whose responses count; by default the only role in the control group
    :param period: the period of the limits that are tried, as in ``"50ms"``; by default 100 ms
    :param burst: their burst, as a part of the quota from 0 to 1
    :param limit: the limit under which to search for a weight or a burst, as in ``"150ms/100ms"``; by default the
        scenario's
    :raises InputError: the request is impossible
    :raises RunError: a policy failed, or the machine; its cause is what a policy in Python raised
    """
    policy = listed("policy", policy)
    given = dict(locals())
    check_names(policy)
    limits = _schedlab.quota(
        scenario,
        policy,
        venue,
        target=target,
        search=search,
        control_group=control_group,
        role=role,
        period=period,
        burst=burst,
        limit=limit,
        seed=seed,
        runs=runs,
        threads=threads,
        kernel=kernel,
        engine=engine,
        load=load,
    )
    warn_unused([venue], kernel, engine, load)
    return Limits(limits, call(quota, given))
