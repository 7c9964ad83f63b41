"""What all results have in common: a text for people, and pages."""

from __future__ import annotations

import html
from os import PathLike, fspath
from pathlib import Path

from .errors import InputError


class Shown:
    """Something with a text for people."""

    def __str__(self) -> str:
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def counted(number: int, thing: str) -> str:
    """A number of things: ``1 run``, ``3 runs``."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def page_file(path: str | PathLike[str]) -> Path:
    """The file for a page.

    :raises InputError: its name ends in something else than ``.html``
    """
    if Path(path).suffix not in (".html", ".htm"):
        raise InputError(f"{fspath(path)}: name a file that ends in .html")
    return Path(path)
