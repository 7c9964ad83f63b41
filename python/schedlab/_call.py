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
from types import CodeType
from typing import Any, NamedTuple

from . import _schedlab
from ._schedlab import Scenario
from .errors import InputError
from .policy import Policy

WIDTH = 100
"""The longest line, in characters; a longer call has a line for each argument."""


class Call(NamedTuple):
    """A call, and what it needs."""

    text: str
    """The call, after comments on what has to be there."""
    listings: list[tuple[str, str]]
    """The name and the source of each policy in Python."""
    scenarios: list[tuple[str, str]]
    """The file name and the text of each scenario that is an object."""


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
    return Call("\n".join([*writer.before, line]), writer.listings, writer.scenarios)


def check_names(policies: object) -> None:
    """Refuses classes that nothing could tell apart in a result or in the call that makes it again.

    :raises InputError: two of them have one name
    """
    names: dict[str, type] = {}
    for policy in policies if isinstance(policies, list) else []:
        if isinstance(policy, type) and names.setdefault(_name(policy), policy) is not policy:
            raise InputError(f"policy: two classes are called {_name(policy)}: give each a name of its own")


def _is_default(value: object, default: object) -> bool:
    return value is default or (type(value) is type(default) and bool(value == default))


class _Writer:
    """Writes values, and notes what has to stand before the call."""

    def __init__(self) -> None:
        self.before: list[str] = []
        self.listings: list[tuple[str, str]] = []
        self.scenarios: list[tuple[str, str]] = []

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
        self.scenarios.append((file, scenario.to_toml()))
        self._note(f"# {file} is listed below: save it first{beside}.")
        return repr(file)

    def _policy(self, policy: type[Policy]) -> str:
        name = _name(policy)
        for owner in reversed(policy.__mro__):
            if owner not in Policy.__mro__ and (source := _source(owner)):
                self._list(_name(owner), source)
        if policy.__module__ != "__main__" and "<locals>" not in policy.__qualname__:
            self._note(f"from {policy.__module__} import {name.split('.')[0]}")
        elif any(name == listed for listed, _ in self.listings):
            self._note(f"# The class {name} is listed below.")
        else:
            self._note(f"# The class {name} is in the program that made this page.")
        return name

    def _list(self, name: str, source: str) -> None:
        if (name, source) not in self.listings:
            self.listings.append((name, source))

    def _note(self, line: str) -> None:
        if line not in self.before:
            self.before.append(line)


def _name(owner: type) -> str:
    """What a program calls a class."""
    return owner.__name__ if "<locals>" in owner.__qualname__ else owner.__qualname__


def _source(owner: type) -> str | None:
    """The source of a class; None where it is not known, as of a class that `type` made."""
    codes = [value.__code__ for value in vars(owner).values() if inspect.isfunction(value)]
    if codes:
        return next((source for code in codes if (source := _source_around(owner, code))), None)
    try:
        return textwrap.dedent(inspect.getsource(owner))
    except (OSError, TypeError, SyntaxError, TokenError):
        return None


def _source_around(owner: type, code: CodeType) -> str | None:
    """The source of the innermost class of this name around the code of a method: a file or a cell of a notebook may
    have several of one name."""
    lines = linecache.getlines(code.co_filename)
    try:
        found = [node for node in ast.walk(ast.parse("".join(lines))) if isinstance(node, ast.ClassDef)]
    except SyntaxError:
        return None
    around = [_lines(node) for node in found if node.name == owner.__name__]
    around = [lines_ for lines_ in around if code.co_firstlineno in lines_]
    if not around:
        return None
    innermost = min(around, key=len)
    return textwrap.dedent("".join(lines[innermost.start - 1 : innermost.stop - 1]))


def _lines(node: ast.ClassDef) -> range:
    """The lines of a class with its decorators, from 1 on."""
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    return range(first, (node.end_lineno or node.lineno) + 1)
