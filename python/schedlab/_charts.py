"""Charts from the specifications that pages use."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import altair


class Charts(Mapping[str, "altair.TopLevelMixin"]):
    """The charts of a result by their names, as Altair objects. Needs altair: ``pip install schedlab[charts]``."""

    def __init__(self, charts: list[tuple[str, str, str, str]], why_none: str = "there are none") -> None:
        self._charts = {name: (title, caption, specification) for name, title, caption, specification in charts}
        self._why_none = why_none

    def __getitem__(self, name: str) -> altair.TopLevelMixin:
        specification = self.specification(name)
        try:
            import altair
        except ImportError as error:
            raise ImportError("altair is not installed; pip install schedlab[charts] does it") from error
        # Vega knows it, the schema of Vega-Lite by which Altair checks does not.
        specification["config"]["legend"].pop("layout", None)
        chart: altair.TopLevelMixin = altair.Chart.from_dict(specification)
        return chart

    def __iter__(self) -> Iterator[str]:
        return iter(self._charts)

    def __len__(self) -> int:
        return len(self._charts)

    def __repr__(self) -> str:
        if not self._charts:
            return f"no charts: {self._why_none}"
        return "\n".join(f"{name}: {title}" for name, (title, _, _) in self._charts.items())

    def specification(self, name: str) -> dict[str, Any]:
        """The whole specification in the grammar of Vega-Lite, with its rows.

        :raises KeyError: there is no such chart; the message names those that there are, or says why there is none
        """
        if name not in self._charts:
            known = f"there are {', '.join(self)}" if self._charts else self._why_none
            raise KeyError(f"there is no chart {name!r}; {known}")
        specification: dict[str, Any] = json.loads(self._charts[name][2])
        return specification
