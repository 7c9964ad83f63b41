"""Exceptions of policies in Python, in a line."""

from __future__ import annotations

import inspect
import os
import sysconfig
from types import TracebackType
from typing import Any, NamedTuple

PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
"""The folder of schedlab's own code."""
LIBRARIES = tuple(
    path + os.sep
    for path in {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    if path
)
"""The folders of Python's own libraries and of those that are installed."""


class Place(NamedTuple):
    """A line of code."""

    file: str
    line: int
    function: str


def told(error: BaseException, called: object) -> tuple[str, str]:
    """What an exception says, and a line with its type, that, and the innermost line of the user's code.

    :param called: the method or the class that was called. Its definition is the place of an exception that no line of
        it raised, as of a wrong number of arguments
    """
    try:
        says = " ".join(str(error).split("\n"))
    except Exception:
        says = "an exception without a text"
    place = _raised_at(error.__traceback__) or _defined_at(called)
    where = f" ({place.file}, line {place.line}, in {place.function})" if place else ""
    return says, f"{type(error).__name__}: {says}{where}"


def _raised_at(traceback: TracebackType | None) -> Place | None:
    """The innermost line that is neither schedlab's nor a library's; if there is none, that is not schedlab's."""
    places: list[Place] = []
    while traceback is not None:
        code = traceback.tb_frame.f_code
        places.append(Place(code.co_filename, traceback.tb_lineno, code.co_name))
        traceback = traceback.tb_next
    theirs = [place for place in places if not os.path.abspath(place.file).startswith(PACKAGE)]
    own = [place for place in theirs if not _is_library(place.file)]
    return (own or theirs)[-1] if theirs else None


def _is_library(file: str) -> bool:
    return file.startswith("<frozen ") or os.path.abspath(file).startswith(LIBRARIES)


def _defined_at(called: object) -> Place | None:
    """Where a function, a method or the `__init__` of a class is defined; None if that is not in Python."""
    function: Any = called.__init__ if isinstance(called, type) else called  # type: ignore[misc]
    code = getattr(inspect.unwrap(function), "__code__", None)
    return None if code is None else Place(code.co_filename, code.co_firstlineno, code.co_name)
