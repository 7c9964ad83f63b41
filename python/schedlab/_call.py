"""The call that makes a page again, as text that Python runs."""

from __future__ import annotations

import ast
import inspect
import linecache
import re
import textwrap
from collections.abc import Callable, Mapping
from os import PathLike, fspath
from tokenize import TokenError
from typing import Any, NamedTuple

from . import _schedlab
from ._schedlab import Scenario
from .policy import Policy

WIDTH = 100
"""The longest line, in characters; a longer call has a line for each argument."""


class Call(NamedTuple):
    """A call, and what it needs."""

    text: str
    """The call, after comments on what has to be there."""
    listings: list[tuple[str, str]]
    """The name and the source of each policy in Python."""


def call(function: Callable[..., object], given: Mapping[str, Any]) -> Call:
    """The call of a function of the package with the arguments that are not its defaults.

    :param given: all arguments by name, as `locals()` has them when the function begins
    """
    writer = _Writer()
    arguments = []
    for name, parameter in inspect.signature(function).parameters.items():
        value = given[name]
        if not _is_default(value, parameter.default):
            word = writer.write(value)
            arguments.append(f"{name}={word}" if parameter.kind is parameter.KEYWORD_ONLY else word)
    head = f"schedlab.{function.__name__}("
    line = f"{head}{', '.join(arguments)})"
    if len(line) > WIDTH:
        line = "\n".join([head, *(f"    {argument}," for argument in arguments), ")"])
    return Call("\n".join([*writer.before, line]), writer.listings)


def _is_default(value: object, default: object) -> bool:
    return value is default or (type(value) is type(default) and bool(value == default))


class _Writer:
    """Writes values, and notes what has to stand before the call."""

    def __init__(self) -> None:
        self.before: list[str] = []
        self.listings: list[tuple[str, str]] = []

    def write(self, value: Any) -> str:
        """A value as an expression of Python."""
        if isinstance(value, Scenario):
            return self._scenario(value)
        if isinstance(value, type) and issubclass(value, Policy):
            return self._policy(value)
        if isinstance(value, PathLike):
            return repr(fspath(value))
        if isinstance(value, Mapping):
            return "{" + ", ".join(f"{key!r}: {self.write(one)}" for key, one in value.items()) + "}"
        if isinstance(value, list | tuple):
            return "[" + ", ".join(map(self.write, value)) + "]"
        if hasattr(value, "tolist") and not isinstance(value, type):
            # A number or an array of numpy, a column of pandas.
            return self.write(value.tolist())
        return repr(value)

    def _scenario(self, scenario: Scenario) -> str:
        shipped = dict(_schedlab.scenarios()).get(scenario.name)
        if shipped is not None and Scenario.from_toml(shipped) == scenario:
            return repr(scenario.name)
        file = f"{scenario.name}.toml"
        steps = re.findall(r'"([^"\n]+\.steps\.parquet)"', scenario.to_toml())
        beside = f", next to {' and '.join(dict.fromkeys(steps))}" if steps else ""
        self._note(f"# {file} is listed below: save it first{beside}.")
        return repr(file)

    def _policy(self, policy: type[Policy]) -> str:
        for owner in reversed(policy.__mro__):
            if owner not in Policy.__mro__ and (source := _source(owner)):
                self._list(_name(owner), source)
        name = _name(policy)
        if policy.__module__ != "__main__" and "<locals>" not in policy.__qualname__:
            self._note(f"from {policy.__module__} import {name.split('.')[0]}")
        elif any(name == listed for listed, _ in self.listings):
            self._note(f"# The class {name} is listed below.")
        else:
            self._note(f"# The class {name} is in the program that made this page.")
        return name

    def _list(self, name: str, source: str) -> None:
        if all(name != listed for listed, _ in self.listings):
            self.listings.append((name, source))

    def _note(self, line: str) -> None:
        if line not in self.before:
            self.before.append(line)


def _name(owner: type) -> str:
    """What a program calls a class."""
    return owner.__name__ if "<locals>" in owner.__qualname__ else owner.__qualname__


def _source(owner: type) -> str | None:
    """The source of a class; None where it is not known, as of a class that `type` made."""
    try:
        return textwrap.dedent(inspect.getsource(owner))
    except (OSError, TypeError, SyntaxError, TokenError):
        return _source_in_cell(owner)


def _source_in_cell(owner: type) -> str | None:
    """The source of a class in a cell of a notebook: the one around the code of its first method."""
    methods = [value for value in vars(owner).values() if inspect.isfunction(value)]
    if not methods:
        return None
    code = methods[0].__code__
    text = "".join(linecache.getlines(code.co_filename))
    try:
        found = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef)]
    except SyntaxError:
        return None
    around = (node for node in found if node.name == owner.__name__ and _is_in(node, code.co_firstlineno))
    node = next(around, None)
    return None if node is None else textwrap.dedent("\n".join(text.splitlines()[node.lineno - 1 : node.end_lineno]))


def _is_in(node: ast.ClassDef, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)
