"""The pages of the site that are not files in docs/: the references of the command line and of results, which the
program prints, the policies' READMEs, and the documents at the top of the checkout."""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

RESULT = """# Results, every key

What `schedlab run --json` prints, and `result.data` in Python; `schedlab schema result` has the same as a JSON schema.
Times are whole nanoseconds in keys that end in `_ns`. Fractions end in `_frac` and lie between 0 and 1. Unknown values
are absent: never zero, never NaN. Only the time after the warm-up counts.
"""

RUNS = """# Results of several runs, every key

What `schedlab run --json --runs N` prints, and `result.data` in Python; `schedlab schema runs` has the same as a JSON
schema. Only `values` contains numbers of single runs. [Metrics](metrics.md) are named by their paths.
"""

COMPARISON = """# Comparisons, every key

What `schedlab compare --json` prints, and `comparison.data` in Python; `schedlab schema comparison` has the same as a
JSON schema. Its `results` are [results of one run](result.md) or [of several](runs.md); their `schema` says which.
"""

AGREEMENT = """# Agreements, every key

What `schedlab agreement --json` prints; `schedlab schema agreement` has the same as a JSON schema.
[How far the simulator is from a kernel](agreement.md) says what the numbers mean.
"""

# What a reader looks for is in the guides. Pages to begin with come before them; lists of keys and names, studies and
# the project's own pages come behind.
WORTH = {"tutorial.": 2, "install.": 2, "studies/": 0.5, "project/": 0.3}
GENERATED = ["result", "runs", "comparison", "agreements", "command-line"]
WORTH |= {f"reference/{name}.": 0.5 for name in [*GENERATED, "python-names"]}

PLAYGROUND = "target/playground.html"

PROJECT = {
    "architecture": "ARCHITECTURE.md",
    "contributing": "CONTRIBUTING.md",
    "bench": "bench/README.md",
    "changelog": "CHANGELOG.md",
}


def on_files(files: Files, config: Any) -> Files:
    """Adds the pages."""
    result, runs, comparison = _schema("result"), _schema("runs"), _schema("comparison")
    known = {"RunResult": "result.md"} | {name: f"result.md#{name.lower()}" for name in result["$defs"]}
    runs["$defs"] = {name: part for name, part in runs["$defs"].items() if name not in known}
    known |= {"RunsResult": "runs.md"} | {name: f"runs.md#{name.lower()}" for name in runs["$defs"]}
    comparison["$defs"] = {name: part for name, part in comparison["$defs"].items() if name not in known}
    pages = {
        "command-line": _command_line(),
        "result": RESULT + _keys(result, {}),
        "runs": RUNS + _keys(runs, known),
        "comparison": COMPARISON + _keys(comparison, known),
        "agreements": AGREEMENT + _keys(_schema("agreement"), {}),
    }
    texts = {f"reference/{name}.md": text for name, text in pages.items()}
    readmes = sorted(Path("policies").glob("*/README.md"))
    texts |= {f"policies/{path.parent.name}.md": path.read_text() for path in readmes}
    texts |= {f"project/{name}.md": Path(path).read_text() for name, path in PROJECT.items()}
    for name, text in texts.items():
        files.append(File.generated(config, name, content=text))
    # The playground, which is a page of its own.
    files.append(File.generated(config, "play.html", abs_src_path=str(Path(PLAYGROUND).resolve())))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Tells the search how much a page is worth."""
    for beginning, boost in WORTH.items():
        if page.file.src_uri.startswith(beginning):
            page.meta.setdefault("search", {})["boost"] = boost
    return markdown


def _keys(schema: dict[str, Any], known: dict[str, str]) -> str:
    """A section for each kind of object, with a row for each key; `known` are described elsewhere."""
    text = _section(schema, known)
    for name, part in schema["$defs"].items():
        text += f"\n## {name}\n\n{_flat(part.get('description', ''))}\n" + _section(part, known)
    return text


def _section(part: dict[str, Any], known: dict[str, str]) -> str:
    rows = [
        f"| `{key}` | {_kind(value, known)} | {_flat(value.get('description', ''))} |"
        for key, value in part.get("properties", {}).items()
    ]
    words = [
        f"| `{choice['const']}` | | {_flat(choice.get('description', ''))} |"
        for choice in part.get("oneOf", [])
        if "const" in choice
    ]
    return "\n| key | | what |\n|---|---|---|\n" + "\n".join(rows or words) + "\n" if rows or words else ""


def _kind(value: dict[str, Any], known: dict[str, str]) -> str:
    """The type of a key."""
    if "$ref" in value:
        name = value["$ref"].split("/")[-1]
        return f"[{name}]({known.get(name, '#' + name.lower())})"
    if value.get("type") == "array":
        return f"list of {_kind(value['items'], known)}"
    if value.get("type") == "object":
        inner = value.get("additionalProperties")
        if not isinstance(inner, dict):
            inner = next(iter(value.get("patternProperties", {}).values()), {})
        return f"{_kind(inner, known)} by name" if inner else "object"
    return {"integer": "whole number", "string": "text", "boolean": "yes or no"}.get(value.get("type", ""), "number")


def _flat(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _schema(name: str) -> dict[str, Any]:
    schema: dict[str, Any] = json.loads(_said("schema", name))
    return schema


def _command_line() -> str:
    text = "# The command line\n\nThe help of each command.\n\n" + _block([])
    verbs = re.findall(r"^  ([a-z]+) ", _help([]), re.MULTILINE)
    for verb in verbs:
        if verb == "help":
            continue
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
    return _said(*words, "--help")


def _said(*words: str) -> str:
    program = os.environ.get("SCHEDLAB", "target/release/schedlab")
    return subprocess.run([program, *words], capture_output=True, text=True, check=True).stdout
