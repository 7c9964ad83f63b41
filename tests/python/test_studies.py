"""Studies."""

import html
import re
from pathlib import Path

import pytest

import schedlab

STUDY = """
name = "tiny"
title = "A study of nothing much"
source = "None"
goal = "To see that it runs."

[scenario.two]
machine = { cpus = 1 }
run = { duration = "1s" }
[[scenario.two.task]]
name = "t"
count = 2
loop = [{ compute = "10ms" }]

[[question]]
id = "share"
asks = "Does each get half?"
[[question.run]]
name = "two"
scenario = "two"
policy = "rr"
"""


def test_a_study_is_run_and_shown(tmp_path: Path) -> None:
    path = tmp_path / "tiny.toml"
    path.write_text(STUDY)
    study = schedlab.study(path, fresh=True, seeds=2)
    assert study.data["name"] == "tiny" and "Does each get half?" in str(study)
    assert repr(study) == "Study('tiny', 0 published values)"
    assert "seed 1, " in study.data["questions"][0]["cases"][0]
    assert "seed 7, " in schedlab.study(path, seed=7).data["questions"][0]["cases"][0]
    study.save(tmp_path / "page.html")
    page = html.unescape((tmp_path / "page.html").read_text())
    assert "A study of nothing much" in page
    [call] = re.findall(r'<pre class="command">(.*?)</pre>', page, re.DOTALL)
    assert "".join(call.split()) in (f"schedlab.study({str(path)!r},seeds=2,fresh=True{end})" for end in ("", ","))
    with pytest.raises(KeyError, match="there is no chart 'published'"):
        study.charts["published"]
    assert study.values.columns[:6] == ["question", "what", "place", "published", "seen", "unit"]


VALUE = """
[[question.value]]
what = "its share"
place = "page 1"
run = "two"
policy = "rr"
metric = "roles.t.cpu_share"
unit = "%"
published = 100
within = 0.1
"""


def test_a_study_has_the_charts_of_its_page(tmp_path: Path) -> None:
    path = tmp_path / "tiny.toml"
    path.write_text(STUDY + VALUE)
    study = schedlab.study(path, fresh=True, seeds=1)
    assert repr(study) == "Study('tiny', 1 published value)"
    [value] = study.values.to_polars().rows(named=True)
    assert (value["published"], value["seen"], value["verdict"], value["reason"]) == ("100", 100.0, "holds", None)
    assert study.charts["published"].to_dict()["description"]
    with pytest.raises(KeyError, match="there is no chart 'nothing'; there are published"):
        study.charts.specification("nothing")


def test_a_question_is_run_alone(tmp_path: Path) -> None:
    path = tmp_path / "tiny.toml"
    question = STUDY[STUDY.index("[[question]]") :]
    path.write_text(STUDY + question.replace('"share"', '"other"').replace('name = "two"', 'name = "again"'))
    whole, one = schedlab.study(path, seeds=1), schedlab.study(f"{path}:other", seeds=1)
    assert [question["id"] for question in whole.data["questions"]] == ["share", "other"]
    assert [question["id"] for question in one.data["questions"]] == ["other"]
    with pytest.raises(schedlab.InputError, match="has no question `today`; it has share"):
        schedlab.study(f"{path}:today")
