"""Studies."""

from pathlib import Path

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
    study = schedlab.study(path, fresh=True)
    assert study.data["name"] == "tiny" and "Does each get half?" in str(study)
    assert repr(study) == "Study('tiny', 0 published values)"
    assert "seed 1, " in study.data["questions"][0]["cases"][0]
    assert "seed 7, " in schedlab.study(path, seed=7).data["questions"][0]["cases"][0]
    study.save(tmp_path / "page.html")
    assert "A study of nothing much" in (tmp_path / "page.html").read_text()
