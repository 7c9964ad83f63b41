"""Scenarios."""

from pathlib import Path
from typing import Any

import pytest

import schedlab
from schedlab import Scenario


def test_a_scenario_is_the_same_from_wherever_it_comes(small: dict[str, Any], tmp_path: Path) -> None:
    made = Scenario(**small)
    path = tmp_path / "small.toml"
    path.write_text(made.to_toml())
    assert made == Scenario.from_dict(small) == Scenario.from_toml(made.to_toml()) == Scenario.from_file(path)
    assert hash(made) == hash(Scenario.from_file(path)) and repr(made) == 'Scenario("small")'
    assert (made.name, made.about) == ("small", "")
    assert Scenario.load("heavy-load").name == "heavy-load" and Scenario.load(str(path)) == made


def test_other_values_make_another_scenario(small: dict[str, Any]) -> None:
    made = Scenario(**small)
    other = made.replace({"task.worker.count": 5, "run.duration": "1s"})
    assert other != made and "count = 5" in other.to_toml()
    assert schedlab.run(other, policy="rr").data["duration_ns"] == 1_000_000_000


@pytest.mark.parametrize("source", ["path", "name", "dictionary", "scenario"])
def test_every_call_takes_a_scenario_in_any_form(source: str, small: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "small.toml"
    path.write_text(Scenario(**small).to_toml())
    forms: dict[str, Any] = {"path": path, "name": str(path), "dictionary": small, "scenario": Scenario(**small)}
    assert schedlab.run(forms[source], policy="rr").data["scenario"]["name"] == "small"
