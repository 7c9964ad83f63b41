"""What comes with schedlab."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from . import _schedlab
from ._arguments import checked


@dataclass(frozen=True)
class PolicyInfo:
    """A policy that ships."""

    name: str
    """What ``policy=`` takes."""
    about: str
    """What it is, in a sentence."""
    kind: str
    """``sched_ext``: a BPF object that every venue runs; ``ideal``: a discipline of theory, in the simulator alone."""


@dataclass(frozen=True)
class ScenarioInfo:
    """A scenario that ships."""

    name: str
    """What ``scenario=`` takes."""
    text: str
    """The text of its file."""


def policies() -> list[PolicyInfo]:
    """All policies that ship. Others are files: ``policy="./mine.bpf.c"``."""
    return [PolicyInfo(*policy) for policy in _schedlab.policies()]


def scenarios() -> list[ScenarioInfo]:
    """All scenarios that ship."""
    return [ScenarioInfo(*scenario) for scenario in _schedlab.scenarios()]


def studies() -> list[str]:
    """The names of all studies that ship."""
    return [name for name, _ in _schedlab.studies()]


@checked
def schema(name: str) -> dict[str, Any]:
    """The JSON schema of a ``scenario``, a ``result``, a result of several ``runs``, a ``comparison`` or a ``quota``;
    or the list of all ``metrics``, each with its unit and definition.

    :raises InputError: there is no such schema; the message names those that there are
    """
    schema: dict[str, Any] = json.loads(_schedlab.schema(name))
    return schema
