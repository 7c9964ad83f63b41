"""Pages that schedlab wrote."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from os import PathLike, fspath

from ._arguments import checked
from ._charts import Charts
from ._shown import Shown, counted
from .errors import InputError, NotFoundError


@dataclass(frozen=True, repr=False)
class Page(Shown):
    """A page, as any command or `save` writes it. `print` shows its title and its charts."""

    title: str
    """Its heading."""
    commands: list[str]
    """The commands or calls that make it again."""
    charts: Charts
    """Its charts, as Altair objects, by the names in the page's addresses: ``charts["response-distribution"]``."""

    def __str__(self) -> str:
        return "\n".join([self.title, *self.commands, repr(self.charts)])

    def __repr__(self) -> str:
        return f"Page({self.title!r}, {counted(len(self.charts), 'chart')})"


@checked
def read_page(path: str | PathLike[str]) -> Page:
    """Reads a page of any command, for its charts: of an agreement, two traces, a history of runs, and so on.

    :raises NotFoundError: there is no such file
    :raises InputError: it is not a page of schedlab
    """
    name = fspath(path)
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except FileNotFoundError:
        raise NotFoundError(f"{name}: there is no such file", name) from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{name}: the file cannot be read: {error}") from error
    reader = _Reader()
    reader.feed(text)
    if not reader.is_ours:
        raise InputError(f"{name}: this is not a page of schedlab")
    charts = [(one.name, one.title.strip(), one.caption.strip(), one.specification) for one in reader.charts]
    return Page(reader.title.strip(), reader.commands, Charts(charts, "the page has none"))


@dataclass
class _Chart:
    name: str
    title: str = ""
    caption: str = ""
    specification: str = ""


@dataclass
class _Reader(HTMLParser):
    """Notes the heading, the charts and the commands of a page as it comes by them."""

    is_ours: bool = False
    title: str = ""
    charts: list[_Chart] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    _path: list[str] = field(default_factory=list)
    """Which of the elements that matter are open."""

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        kind = given.get("class") or ""
        if tag == "figure" and kind == "chart":
            self.charts.append(_Chart(given.get("id") or ""))
            self._path.append("figure")
        elif tag == "pre" and kind == "command":
            self.commands.append("")
            self._path.append("pre")
        elif tag in ("h1", "footer") or (tag in ("strong", "span", "script") and self._is_in("figure")):
            self._path.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._path and self._path[-1] == tag:
            self._path.pop()

    def handle_data(self, data: str) -> None:
        if self._is_in("h1"):
            self.title += data
        elif self._is_in("footer"):
            self.is_ours = self.is_ours or data.startswith("Made by schedlab ")
        elif self._is_in("pre"):
            self.commands[-1] += data
        elif self._is_in("figure"):
            self._add_to_chart(data)

    def _add_to_chart(self, data: str) -> None:
        chart = self.charts[-1]
        if self._is_in("script"):
            chart.specification += data
        elif self._is_in("strong"):
            chart.title += data
        elif self._is_in("span"):
            chart.caption += data

    def _is_in(self, tag: str) -> bool:
        return tag in self._path
