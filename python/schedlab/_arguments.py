"""Whether arguments are of the types that the functions of the package declare."""

from __future__ import annotations

import functools
import inspect
import numbers
from collections.abc import Callable, Mapping, Sequence
from os import PathLike, fspath
from typing import Any, ParamSpec, TypeVar

from .errors import InputError

P = ParamSpec("P")
T = TypeVar("T")


def checked(function: Callable[P, T]) -> Callable[P, T]:
    """The function, which first checks those of its arguments whose declared type is in `KINDS`.

    :raises TypeError: with the name of the argument
    :raises InputError: a path is empty
    """
    signature = inspect.signature(function)
    kinds = {name: str(parameter.annotation) for name, parameter in signature.parameters.items()}

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        # What does not bind is Python's to report.
        given = _bound(signature, args, kwargs)
        for name, value in given.items():
            kind = kinds[name]
            if not (value is None and kind.endswith(" | None")):
                _check(name, value, kind.removesuffix(" | None"))
        return function(*args, **kwargs)

    return call


def _bound(signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Mapping[str, Any]:
    try:
        return signature.bind(*args, **kwargs).arguments
    except TypeError:
        return {}


def _is_truth(value: object) -> bool:
    # numpy's own type has no number.
    return isinstance(value, bool) or type(value).__name__ in ("bool", "bool_")


def _is_texts(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str) and all(isinstance(one, str) for one in value)


def _is_path(value: object) -> bool:
    return isinstance(value, str) or (isinstance(value, PathLike) and isinstance(fspath(value), str))


KINDS: dict[str, tuple[str, Callable[[object], bool]]] = {
    "bool": ("True or False", _is_truth),
    "float": ("a number", lambda value: isinstance(value, numbers.Real) and not isinstance(value, bool)),
    "str": ("a text", lambda value: isinstance(value, str)),
    "str | PathLike[str]": ("a path", _is_path),
    "Sequence[str]": ("a list of texts", _is_texts),
}
"""What is needed for a type as it is declared, and whether a value is that. Whole numbers are checked where their
bounds are known."""


def _check(name: str, value: object, kind: str) -> None:
    if kind not in KINDS:
        return
    needed, is_it = KINDS[kind]
    if not is_it(value):
        raise TypeError(f"{name}: {needed} is needed, not {type(value).__name__}")
    if kind == "str | PathLike[str]" and not fspath(value):  # type: ignore[call-overload]
        raise InputError(f"{name}: the path is empty")
