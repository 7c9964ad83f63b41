"""Trace files."""

from __future__ import annotations

import json
from dataclasses import dataclass
from os import PathLike
from typing import Any

from . import _schedlab
from ._arguments import checked
from ._schedlab import Frame
from ._shown import Shown, counted


@dataclass(frozen=True, repr=False)
class Trace(Shown):
    """A trace file in memory. `print` shows what it is of."""

    header: dict[str, Any]
    """What ran, where, how long, and how many events were lost."""
    events: Frame
    """A row for each event, in the order of time; ``time_ns`` is in nanoseconds from the run's start. A column for each
    field; one that an event does not have is null."""

    def __str__(self) -> str:
        header = self.header
        seconds, lost = header["end_ns"] / 1e9, header["lost"]
        what = f"{header['scenario']} under {header['policy']} in {header['venue']}, seed {header['seed']}"
        size = f"{counted(len(self.events), 'event')} of {counted(header['cpus'], 'CPU')} in {seconds:g} s"
        return f"{what}: {size}, {lost} lost." if lost else f"{what}: {size}."

    def __repr__(self) -> str:
        return f"Trace({self.header['scenario']!r}, {counted(len(self.events), 'event')})"


@checked
def read_trace(path: str | PathLike[str]) -> Trace:
    """Reads a Parquet or Perfetto trace that schedlab wrote.

    :raises NotFoundError: there is no such file
    :raises InputError: it is not a trace
    """
    header, events = _schedlab.read_trace(path)
    return Trace(json.loads(header), events)
