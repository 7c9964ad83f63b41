"""Examples in the package's own texts and in its reference do what they say."""

import doctest
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import schedlab
import schedlab.policy
from conftest import ROOT, CommandLine

GATE = """
scenario = "heavy-load"
policy = "rr"
duration = "1s"

[[check]]
metric = "response_ns.p99"
worse = "1 %"
"""


@pytest.mark.parametrize("module", [schedlab, schedlab.policy])
def test_examples_give_what_they_say(module: ModuleType) -> None:
    result = doctest.testmod(module)
    assert result.attempted > 0 and result.failed == 0


def test_every_snippet_of_the_reference_runs(command_line: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / "docs/reference/python.md").read_text()
    snippets = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(snippets) >= 5
    monkeypatch.chdir(command_line.folder)
    command_line.out("run", "heavy-load", "--policy", "rr", "--quiet", "--duration", "1s", "--trace", "t.parquet")
    Path("mine.gate.toml").write_text(GATE)
    names: dict[str, Any] = {}
    for snippet in snippets:
        exec(compile(snippet, "docs/reference/python.md", "exec"), names)
    assert Path("comparison.html").exists() and len(names["sweep"].frame) == 3 * 2 * 10
