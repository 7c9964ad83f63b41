"""Recordings of real programs, models of them, and predictions."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Sequence
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from . import _schedlab
from ._arguments import checked
from ._call import call
from ._charts import Charts
from ._schedlab import Frame, Scenario
from ._shown import Shown, counted, page_file
from ._trace import Trace, read_trace


class Recording(Shown):
    """What was recorded, as a trace file with its result. `print` shows it as the command line does."""

    def __init__(self, recorded: _schedlab.Recorded, path: Path) -> None:
        self._recorded = recorded
        self.path = path
        """The trace file."""

    @cached_property
    def data(self) -> dict[str, Any]:
        """The result; `schema("result")` describes it. A role is a program."""
        data: dict[str, Any] = json.loads(self._recorded.data())
        return data

    @property
    def lost(self) -> dict[str, int]:
        """How many events of each kind the recording lost; empty if none."""
        return dict(self._recorded.lost())

    @property
    def exit_code(self) -> int | None:
        """The exit code of the command, as a shell gives it (128 plus the signal that killed it); None where there was
        no command, or where it had not ended in time and was killed."""
        return self._recorded.exit_code()

    def trace(self) -> Trace:
        """The events, as `read_trace` reads them."""
        return read_trace(self.path)

    def __str__(self) -> str:
        return self._recorded.show()

    def __repr__(self) -> str:
        return f"Recording({str(self.path)!r})"


@checked
def record(
    command: Sequence[str | PathLike[str]] | None,
    output: str | PathLike[str],
    *,
    seconds: float | None = None,
    ring: str = "16MiB",
) -> Recording:
    """Records what this kernel's scheduler does, with eBPF. Needs root.

    :param command: a command and its arguments, recorded with its children; None records the whole machine
    :param output: the trace file to write, ``.parquet`` or ``.pftrace``
    :param seconds: how long; a command is recorded until it ends if this is not given, and is killed when the time is
        over
    :param ring: the buffer between the kernel and schedlab, from ``"4KiB"`` to ``"1GiB"``; enlarge it if events are
        lost
    :raises InputError: the request is impossible
    :raises RunError: a right or a feature of the kernel is missing
    :raises TypeError: the command is a text
    """
    if isinstance(command, str | PathLike):
        raise TypeError(f"command: a list of the program and its arguments is needed: write {_split(fspath(command))}")
    words = [] if command is None else [fspath(word) for word in command]
    path = Path(output)
    return Recording(_schedlab.record(words, path, seconds=seconds, ring=ring), path)


def _split(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()


@checked
def import_recording(
    recording: str | PathLike[str], output: str | PathLike[str], *, by_thread: bool = False
) -> Recording:
    """Makes a trace of what another tool recorded: perf, ftrace, trace-cmd, Perfetto, as text or binary.

    :param recording: the file, compressed or not; `docs/reference/import.md` lists the formats
    :param output: the trace file to write, ``.parquet`` or ``.pftrace``
    :param by_thread: whether each thread name is a role of its own, instead of each program
    :raises InputError: the file cannot be read as a recording of the scheduler
    """
    path = Path(output)
    return Recording(_schedlab.import_recording(Path(recording), path, by_thread=by_thread), path)


class Model(Shown):
    """A scenario that was made of a recording. `print` shows it as the command line does."""

    def __init__(self, modelled: _schedlab.Modelled, path: Path) -> None:
        self._modelled = modelled
        self.path = path
        """The scenario file."""

    @cached_property
    def scenario(self) -> Scenario:
        """The scenario, for `run`, `compare` and `sweep`."""
        return self._modelled.scenario()

    @cached_property
    def data(self) -> dict[str, Any]:
        """What the model says about itself, as `schedlab model --json` prints it."""
        data: dict[str, Any] = json.loads(self._modelled.data())
        return data

    @cached_property
    def roles(self) -> Frame:
        """A row for each role.

        Columns: ``name``, ``tasks``, ``items``, ``kept`` (``tasks`` or ``items``: what the model repeats exactly),
        ``constant`` (whether all items are the same), ``work_p50_ns`` and ``work_p99_ns`` (of an item), ``cpu_frac``
        (its part of the CPU work), ``waits_for``.
        """
        return self._modelled.roles()

    @property
    def unexplained_frac(self) -> float:
        """The part of the time slept whose end the recording does not explain, from 0 to 1."""
        return float(self.data["unexplained_frac"])

    def __str__(self) -> str:
        return self._modelled.show()

    def __repr__(self) -> str:
        return f"Model({str(self.path)!r}, {counted(len(self.roles), 'role')})"


@checked
def model(recording: str | PathLike[str], output: str | PathLike[str]) -> Model:
    """Models a recording: what its tasks do, as a scenario that any policy can run.

    :param recording: a trace of schedlab, or a file that `import_recording` reads
    :param output: the scenario file to write, ``.toml``; recorded steps are written next to it as
        ``NAME.steps.parquet``
    :raises InputError: the recording cannot be modelled
    """
    path = Path(output)
    return Model(_schedlab.model(Path(recording), path), path)


class Prediction(Shown):
    """What other schedulers would do to what was recorded. `print` shows it as the command line does."""

    def __init__(self, predicted: _schedlab.Predicted, recording: Path, command: str) -> None:
        self._predicted = predicted
        self._recording = recording
        self._command = command

    @cached_property
    def data(self) -> dict[str, Any]:
        """All of it, as `schedlab predict --json` prints it."""
        data: dict[str, Any] = json.loads(self._predicted.data())
        return data

    @property
    def refusal(self) -> str | None:
        """Why nothing is predicted; None if something is."""
        return self._predicted.refusal()

    @cached_property
    def figures(self) -> Frame:
        """A row for each policy, number of CPUs, role and figure; none where the prediction is refused.

        Columns: ``policy``, ``cpus``, ``role``, ``figure``, ``value``, the ends ``low`` and ``high`` of its interval at
        ``level`` (0.9), ``bias`` (how far the self-check was off, on a logarithmic scale). Figures in ``_ns`` are
        nanoseconds, in ``_per_s`` per second, and ``cpu_frac`` is a part of 1. `docs/reference/model.md` has the
        formulas.
        """
        return self._predicted.figures()

    @cached_property
    def self_check(self) -> Frame:
        """A row for each role and figure: the model under the recorded scheduler compared with the recording.

        Columns: ``role``, ``figure``, ``recorded``, ``modelled`` (in the figure's unit), ``error`` (a part of the
        recorded value).
        """
        return self._predicted.self_check()

    @cached_property
    def charts(self) -> Charts:
        """The charts of the page, as Altair objects: ``charts["prediction"]``, ``charts["wakes"]`` and others."""
        return Charts(self._predicted.charts(), "the recording has no figure that can be drawn")

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the page with charts and tables that `schedlab predict --report` writes.

        :raises InputError: the name of the file ends in something else than ``.html``
        """
        page = self._predicted.html(str(self._recording), self._command)
        page_file(path).write_text(page, encoding="utf-8")

    def __str__(self) -> str:
        return self._predicted.show()

    def __repr__(self) -> str:
        outcome = counted(len(self.figures), "figure") if self.refusal is None else "refused"
        return f"Prediction({self.data['model']['name']!r}, {outcome})"


@checked
def predict(
    recording: str | PathLike[str],
    policy: str | PathLike[str] | Sequence[str | PathLike[str]],
    *,
    cpus: int | Sequence[int] = (),
    recorded: str | None = None,
    resamples: int = 40,
    threads: int | None = None,
) -> Prediction:
    """Predicts what other schedulers, or other numbers of CPUs, would do to what was recorded.

    The model first runs under the recorded scheduler; if that is too far from the recording, the prediction is refused,
    which raises nothing: look at `Prediction.refusal`.

    :param recording: a trace of schedlab, or a file that `import_recording` reads
    :param policy: policies as on the command line: ``"eevdf,ule"``, or a list of names and files; not a class
    :param cpus: a number of CPUs, or a list; the recording's own by default
    :param recorded: the policy to use for the scheduler of the recording; by default the recording's own
    :param resamples: the number of block-bootstrap resamples for intervals; 0 for none
    :param threads: how many runs happen in parallel; all cores by default
    :raises InputError: the recording cannot be modelled, or its scheduler is unknown
    """
    given = dict(locals())
    sizes = list(cpus) if isinstance(cpus, Iterable) else [cpus]
    predicted = _schedlab.predict(
        Path(recording), _named(policy), cpus=sizes, recorded=recorded, resamples=resamples, threads=threads
    )
    return Prediction(predicted, Path(recording), call(predict, given).text)


def _named(policy: object) -> list[str]:
    """The texts that name policies."""
    if isinstance(policy, Iterable) and not isinstance(policy, str):
        return [text for one in policy for text in _named(one)]
    if not isinstance(policy, str | PathLike):
        raise TypeError(f"policy: a name or a file is needed, not {policy!r}; a prediction cannot run a class")
    return [str(fspath(policy))]
