"""Runs and their results."""

from __future__ import annotations

import json
import tempfile
import warnings
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, Union

from . import _schedlab
from ._arguments import checked
from ._call import Call, call, check_names
from ._charts import Charts
from ._schedlab import Frame, Scenario
from ._shown import Shown, page_file
from .errors import RunError
from .policy import Policy

Source = Union[Scenario, str, "PathLike[str]", dict[str, Any]]
"""A scenario, the name of a shipped one, a file, or a dictionary with the keys of a file."""

PolicySource = Union[str, "PathLike[str]", type[Policy]]
"""A policy as on the command line: ``rr``, ``rr:quantum=5ms``, ``./mine.bpf.c``; or a class, see `schedlab.policy`."""


class _Ran(Shown):
    """The outcome of a call of `run` or `compare`."""

    def __init__(self, done: _schedlab.Done, call: Call) -> None:
        self._done = done
        self._call = call

    @cached_property
    def roles(self) -> Frame:
        """A row for each policy, run and role: policies · runs · roles rows.

        Columns: ``policy``, ``venue``, ``seed``, ``name``, ``count`` (tasks), and each metric by its path, as
        ``response_ns.p99``, ``throughput_per_s``, ``cpu_share``. Times in columns with ``_ns`` are nanoseconds, shares
        are parts of 1, quantiles are within 1/256 of the true value; a metric that a role does not have is null.
        `schema("metrics")` has each one's meaning, unit and source. Every result has the same columns.
        """
        return self._done.frame("roles")

    @cached_property
    def tasks(self) -> Frame:
        """A row for each policy, run and task: policies · runs · tasks rows, none of a run with more than 256 tasks.

        Columns: ``policy``, ``venue``, ``seed``, ``id``, ``role``, and the metrics of `roles`.
        """
        return self._done.frame("tasks")

    @cached_property
    def cpus(self) -> Frame:
        """A row for each policy, run and CPU: policies · runs · CPUs rows.

        Columns: ``policy``, ``venue``, ``seed``, ``id``, the parts of the measured time ``busy_frac``, ``idle_frac``
        and ``overhead_frac`` (they add to 1, on this machine together with what others took), and ``runnable.1`` and
        so on: the part of it with one, two or more runnable tasks there.
        """
        return self._done.frame("cpus")

    @cached_property
    def control_groups(self) -> Frame:
        """A row for each policy, run and control group: policies · runs · control groups rows, parents first.

        Columns: ``policy``, ``venue``, ``seed``, ``path``, the settings ``weight``, ``idle``, ``quota_ns`` (null
        without a limit), ``period_ns``, ``max_burst_ns`` and ``cpus`` (a list as in ``0-3``), and each metric by its
        path, as ``usage_share`` (a part of CPUs · time), ``nr_throttled`` (periods), ``burst_ns`` (time beyond the
        quota), ``throttled_wait_ns.p99``, ``response_throttled_ns.mean``; null where no venue or policy counts it.
        """
        return self._done.frame("control_groups")

    @cached_property
    def means(self) -> Frame:
        """A row for each policy, part of the result and metric: over all runs.

        Columns: ``policy``, ``venue``, ``of`` (role, cpu, control_group or run), ``name`` (of the role or control
        group, or the CPU's number), ``metric`` (its path), ``value`` (the mean of the runs that know it; of lost
        events the sum), ``low`` and ``high`` (the ends of its 95 % interval, Student's t; null where fewer than two
        runs know it, or where nothing is random and all runs give the same), ``runs`` (how many know it).
        `schema("metrics")` says what each metric is.
        """
        return self._done.frame("means")

    @cached_property
    def charts(self) -> Charts:
        """The charts of the page, as Altair objects: ``charts["response-distribution"]``."""
        return Charts(self._done.charts())

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the page with charts, timelines and tables that `schedlab run --report` writes.

        :raises InputError: the name of the file ends in something else than ``.html``
        """
        page_file(path).write_text(self._done.html(self._call.text, self._call.listings), encoding="utf-8")


class Result(_Ran):
    """The result of a policy in one venue, under one seed or several. `print` shows it as the command line does."""

    def __init__(self, done: _schedlab.Done, call: Call, events: Frame | None) -> None:
        super().__init__(done, call)
        self._events = events

    @cached_property
    def data(self) -> dict[str, Any]:
        """The whole result; `schema("result")` describes it. With ``runs=`` above 1 it is the result of several runs,
        which `schema("runs")` describes: each metric with its mean, its interval and the value of each run."""
        data: dict[str, Any] = json.loads(self._done.result(0))
        return data

    @property
    def events(self) -> Frame:
        """A row for each event of the first run, in the order of time, as in a trace file; only after
        ``run(…, events=True)``. Columns: ``time_ns`` from the run's start, ``kind``, and a column for each field that
        some kind of event has, null in the others.

        :raises AttributeError: the events were not kept
        """
        if self._events is None:
            raise AttributeError("the events of this run were not kept; run it with events=True")
        return self._events

    def __str__(self) -> str:
        return self._done.show_result(0)

    def __repr__(self) -> str:
        data = self.data
        return f"Result({data['scenario']['name']!r}, policy={self._done.labels()[0]!r}, venue={data['venue']!r})"


class Comparison(_Ran):
    """The results of several policies on one scenario. `print` shows it as the command line does."""

    @cached_property
    def data(self) -> dict[str, Any]:
        """The whole comparison; `schema("comparison")` describes it."""
        data: dict[str, Any] = json.loads(self._done.comparison())
        return data

    @property
    def policies(self) -> list[str]:
        """The policies that ran, as you wrote them, with their variant and, if there are several, their venue."""
        return self._done.labels()

    @property
    def failures(self) -> list[str]:
        """A line for each policy that failed."""
        return self._done.failures()

    @cached_property
    def differences(self) -> Frame:
        """A row for each further policy, role and metric: how it differs from the first policy. The metrics are the
        mean and the 99th percentile of response times, throughput and share of the CPUs; for any other, compare the
        values of each run in `roles`, or the intervals in `means`.

        Columns: ``ratio`` and ``difference`` (in the metric's own unit) with intervals at 95 %
        (``ratio_interval.low``, ``difference_interval.high``), ``cliffs_delta`` from -1 to 1 (Cliff 1993), ``verdict``
        in words, ``caution`` (why the two are not to be compared by this metric, as where one starves tasks; else
        null), and ``evidence``: the intervals are Student's t over ``runs``, those with the same seed in pairs
        (ratios: Cochran 1977, section 6.4); of one run over ``batches`` of consecutive requests. Where it is ``exact``
        every run gives the same numbers and there is no interval: ``under_changes.ratio_low`` and ``…_high`` tell what
        small changes of tick offset, work and sleep do to them.
        `schema("comparison")` has all.
        """
        return self._done.frame("differences")

    @cached_property
    def theory(self) -> Frame:
        """A row for each policy, where the scenario is a queue of theory or has published values.

        Columns: ``model`` (``M/M/1 FCFS``), ``expected_ns`` and ``measured_ns`` (mean response times), the measured
        one's interval at 95 %, ``published_ns`` and ``published_in``. Theory is that of queues (Harchol-Balter,
        *Performance Modeling and Design of Computer Systems*, 2013).
        """
        return self._done.frame("theory")

    def __str__(self) -> str:
        return self._done.show_comparison()

    def __repr__(self) -> str:
        return f"Comparison({', '.join(self.policies)})"


@checked
def run(
    scenario: Source,
    policy: PolicySource,
    *,
    venue: str = "sim",
    seed: int | None = None,
    runs: int = 1,
    kernel: str | None = None,
    engine: str | None = None,
    load: str = "spin",
    threads: int | None = None,
    unchecked: bool = False,
    check: bool = False,
    costs: bool = True,
    events: bool = False,
    trace: str | PathLike[str] | None = None,
    for_model: bool = False,
    charts: bool = True,
) -> Result:
    """Runs a scenario under one policy.

    :param scenario: a `Scenario`, the name of a shipped one, a file, or a dictionary with the keys of a file
    :param policy: as on the command line: ``rr``, ``rr:quantum=5ms``, ``./mine.bpf.c``; or a class
        of `schedlab.policy.Policy`
    :param venue: ``sim``, ``vm`` or ``host``
    :param seed: the seed of all random numbers; by default that of the scenario
    :param runs: how many runs, with seeds derived from the first
    :param kernel: of a virtual machine: ``debian:12``, ``debian:13-backports``, a path; by default one that has what
        the policies need
    :param engine: the emulator of a virtual machine: ``qemu``, ``bochs``, ``kvm``
    :param load: what tasks compute on a real machine: ``spin``, ``fibonacci``, ``fft``, ``pi``, ``memory``
    :param threads: how many simulated runs happen in parallel; all cores by default
    :param unchecked: whether to execute a policy file as machine code, without checks of its memory accesses
    :param check: whether to check every event against what holds in every correct trace
    :param costs: whether a virtual machine also measures what its scheduler takes
    :param events: whether to keep the events of the first run, for `Result.events`
    :param trace: a file for the trace of the first run, ``.parquet``, ``.pftrace`` (Perfetto) or ``.txt``
    :param for_model: whether the trace also has the calls of tasks, which `model` uses; only in ``sim``
    :param charts: whether to collect the charts over time and the timeline of the page from the first run
    :raises InputError: the request is impossible
    :raises RunError: the policy failed, or the machine; its cause is what a policy in Python raised
    """
    given = dict(locals())
    with tempfile.TemporaryDirectory(prefix="schedlab-") as folder:
        kept_in = Path(folder) / "trace.parquet"
        done = _schedlab.run(
            scenario,
            [policy],
            [venue],
            seed=seed,
            runs=runs,
            threads=threads,
            kernel=kernel,
            engine=engine,
            load=load,
            unchecked=unchecked,
            check=check,
            costs=costs,
            traces=[*([kept_in] if events else []), *([trace] if trace is not None else [])],
            calls=for_model,
            listens=charts,
            keeps=False,
            fresh=False,
            vary=None,
            perturb=0,
        )
        _raise_failures(done)
        kept = _schedlab.read_trace(kept_in)[1] if events else None
    warn_unused([venue], kernel, engine, load, costs=costs)
    if for_model and (venue != "sim" or (trace is None and not events)):
        warnings.warn("`for_model` has no effect: only a trace or events of the simulator have calls", stacklevel=3)
    return Result(done, call(run, given), kept)


@checked
def compare(
    scenario: Source,
    policy: PolicySource | Sequence[PolicySource],
    *,
    vary: Mapping[str, Sequence[Any]] | None = None,
    venue: str | Sequence[str] = "sim",
    seed: int | None = None,
    runs: int = 1,
    kernel: str | None = None,
    engine: str | None = None,
    load: str = "spin",
    threads: int | None = None,
    unchecked: bool = False,
    check: bool = False,
    costs: bool = True,
    charts: bool = True,
    perturb: int = 10,
    fresh: bool = False,
) -> Comparison:
    """Runs a scenario under several policies, in one venue or several, and compares them with the first one.

    A policy that fails does not affect the others: see `Comparison.failures`. The parameters are those of `run`. Runs
    in the cache are not repeated, so a comparison that was stopped resumes.

    :param policy: a list, or a text as on the command line: ``"fcfs,rr,mlfq"``
    :param vary: variants of the scenario to compare too: paths, or ``policy.PARAMETER``, each with a list of
        values, as in ``{"task.batch.nice": [0, 5, 19], "machine.cpus": [2, 4]}``; every combination is one
    :param venue: a name or a list
    :param perturb: how many copies with small changes of tick offset, work and sleep to run where nothing is random
    :param fresh: whether to ignore the cache and repeat all runs
    :raises InputError: the request is impossible
    :raises RunError: every policy failed, or the machine; its cause is what a policy in Python raised first
    """
    policy = listed("policy", policy)
    venue = listed("venue", venue)
    given = dict(locals())
    check_names(policy)
    venues = [venue] if isinstance(venue, str) else venue
    done = _schedlab.run(
        scenario,
        policy,
        venues,
        seed=seed,
        runs=runs,
        threads=threads,
        kernel=kernel,
        engine=engine,
        load=load,
        unchecked=unchecked,
        check=check,
        costs=costs,
        traces=[],
        calls=False,
        listens=charts,
        keeps=True,
        fresh=fresh,
        vary=vary,
        perturb=perturb,
    )
    if not done.labels():
        _raise_failures(done)
    warn_unused(venues, kernel, engine, load, costs=costs)
    return Comparison(done, call(compare, given))


def _raise_failures(done: _schedlab.Done) -> None:
    """Raises what the policies failed of, if any did."""
    if failures := done.failures():
        raise RunError("; ".join(failures)) from next((cause for cause in done.causes() if cause is not None), None)


def listed(name: str, given: Any) -> Any:
    """One thing as it is; several as a list, in their order.

    :raises TypeError: there is no order, or it is not a list
    """
    if isinstance(given, str | PathLike | type):
        return given
    if isinstance(given, Set | Mapping) or not isinstance(given, Iterable):
        raise TypeError(f"{name}: one or a list is needed, not {type(given).__name__}: the first is the baseline")
    return list(given)


def warn_unused(
    venues: Sequence[str], kernel: str | None, engine: str | None, load: str, *, costs: bool = True
) -> None:
    """Warns of arguments that none of the venues looks at. The caller is a function that `checked` wraps."""
    is_unused = {
        "kernel": kernel is not None and "vm" not in venues,
        "engine": engine is not None and "vm" not in venues,
        "load": load != "spin" and not {"vm", "host"} & set(venues),
        "costs": not costs and "vm" not in venues,
    }
    for name in (name for name, is_it in is_unused.items() if is_it):
        where = "`vm` or `host`" if name == "load" else "`vm`"
        warnings.warn(f"`{name}` has no effect in {', '.join(venues)}: only {where} uses it", stacklevel=4)
