"""What the site has beside the files of docs/: the reference of the command line, as the program itself tells it."""

import os
import subprocess
from typing import Any

from mkdocs.structure.files import File, Files

PAGE = "reference/command-line.md"


def on_files(files: Files, config: Any) -> Files:
    """Adds the page of the command line."""
    files.append(File.generated(config, PAGE, content=_page()))
    return files


def _page() -> str:
    text = "# The command line\n\nWhat `schedlab --help` says of each verb.\n\n" + _block([])
    verbs = _listed(_help([]), "Commands:")
    for verb in verbs:
        text += f"\n## {verb}\n\n" + _block([verb])
        for inner in _listed(_help([verb]), "Commands:"):
            text += f"\n### {verb} {inner}\n\n" + _block([verb, inner])
    return text


def _listed(text: str, heading: str) -> list[str]:
    """The first words of the lines below a heading."""
    if heading not in text:
        return []
    lines = text.split(heading, 1)[1].split("\n\n", 1)[0].splitlines()
    words = [line.split()[0] for line in lines if line.startswith("  ") and not line.startswith("   ")]
    return [word for word in words if word != "help"]


def _block(words: list[str]) -> str:
    return f"```text\n{_help(words)}```\n"


def _help(words: list[str]) -> str:
    program = os.environ.get("SCHEDLAB", "target/release/schedlab")
    return subprocess.run([program, *words, "--help"], capture_output=True, text=True, check=True).stdout
