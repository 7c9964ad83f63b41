"""Gates."""

import re
from pathlib import Path

import pytest

import schedlab

GATE = """
scenario = "heavy-load"
policy = "rr"
duration = "2s"

[[check]]
metric = "response_ns.p99"
worse = "1 %"

[[check]]
metric = "jain"
min = 0.9
"""


def test_a_gate_needs_its_baseline_and_holds_against_it(tmp_path: Path) -> None:
    file = tmp_path / "desk.gate.toml"
    file.write_text(GATE)
    with pytest.raises(schedlab.InputError, match="no baseline"):
        schedlab.gate(file)
    written = schedlab.gate(file, update=True)
    assert "1 value, 1 new, 0 changed" in str(written)
    assert written.passed
    assert (tmp_path / "desk.baseline.toml").exists()
    gate = schedlab.gate(file)
    assert gate.passed and gate.counts["checks"] == 2
    rows = gate.checks.to_polars()
    assert rows["verdict"].to_list().count("same") == 1
    [row] = [row for row in rows.rows(named=True) if row["metric"] == "roles.worker.response_ns.p99"]
    assert row["from.number"] == row["to.number"] > 0
    assert rows.columns[-5:] == ["allowed.least", "allowed.most", "change.low", "change.high", "why"]
    assert rows["change.low"].to_list() == [None, None] and rows["allowed.least"].to_list() == [None, None]
    shown = gate.checks._repr_html_()
    assert re.search(r">[\d.]+ ms</td>", shown) and str(int(row["to.number"])) not in shown


def test_a_bound_that_does_not_hold_is_a_finding_and_no_exception(tmp_path: Path) -> None:
    file = tmp_path / "desk.gate.toml"
    file.write_text(GATE.replace("min = 0.9", "max = 0.1"))
    schedlab.gate(file, update=True)
    gate = schedlab.gate(file)
    assert not gate.passed and gate.counts["failed"] == 1
    assert gate.checks.to_polars()["verdict"][0] == "failed"
    gate.save(tmp_path / "gate.xml")
    assert 'failures="1"' in (tmp_path / "gate.xml").read_text()
    gate.save(tmp_path / "gate.md")
    assert "FAILED" in (tmp_path / "gate.md").read_text()
    gate.save(tmp_path / "gate.html")
    assert "failed: 1 of 2 checks failed" in (tmp_path / "gate.html").read_text()
    assert list(gate.charts) == ["changes"]
    with pytest.raises(schedlab.InputError, match=r"ends in \.html, \.xml or \.md"):
        gate.save(tmp_path / "gate.txt")
