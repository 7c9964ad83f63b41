"""Trace files."""

from __future__ import annotations

import json
from dataclasses import dataclass
from os import PathLike
from typing import Any

from . import _schedlab
from ._schedlab import Frame


@dataclass(frozen=True)
class Trace:
    """A trace file in memory."""

    header: dict[str, Any]
    """What ran, where, how long, and how many events were lost."""
    events: Frame
    """A row for each event, in the order of time; ``time_ns`` is in nanoseconds from the run's start. A column for each
    field; one that an event does not have is null."""


def read_trace(path: str | PathLike[str]) -> Trace:
    """Reads a Parquet or Perfetto trace that schedlab wrote.

    :raises NotFoundError: there is no such file
    :raises InputError: it is no trace
    """
    header, events = _schedlab.read_trace(path)
    return Trace(json.loads(header), events)
