"""Which names the code of a class or a module uses."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from types import CellType, CodeType, FunctionType


def used_in_module(name: str) -> Iterator[str]:
    """The names that the functions and the methods of a module use."""
    for value in list(vars(sys.modules.get(name, object)).values()):
        if getattr(value, "__module__", None) == name:
            yield from used_in_class(value) if isinstance(value, type) else _used_by(value)


def used_in_class(owner: type) -> Iterator[str]:
    """The names that the methods of a class use."""
    for value in vars(owner).values():
        yield from _used_by(value)


def _used_by(value: object) -> Iterator[str]:
    """The names that a function uses, also in texts, as for `getattr`; what it wraps is its own too."""
    objects: list[object] = [value]
    codes: list[CodeType] = []
    seen: set[int] = set()
    while objects:
        one = objects.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        objects += [inner for name in ("__func__", "__wrapped__", "fget", "func") if (inner := _inside(one, name))]
        if isinstance(one, FunctionType):
            codes.append(one.__code__)
            objects += [cell.cell_contents for cell in one.__closure__ or () if _is_function(cell)]
    while codes:
        code = codes.pop()
        yield from code.co_names
        yield from (constant for constant in code.co_consts if isinstance(constant, str))
        codes += [constant for constant in code.co_consts if isinstance(constant, CodeType)]


def _inside(value: object, name: str) -> object:
    return inspect.getattr_static(value, name, None) and getattr(value, name, None)


def _is_function(cell: CellType) -> bool:
    try:
        return isinstance(cell.cell_contents, FunctionType)
    except ValueError:
        # It is empty.
        return False
