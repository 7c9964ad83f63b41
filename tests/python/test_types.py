"""The package is typed, and its stubs say what the module has."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("module", ["schedlab"])
def test_stubs_say_what_the_module_has(module: str) -> None:
    _succeeds("-m", "mypy.stubtest", module)


def test_types_hold_in_the_package_and_its_tests() -> None:
    _succeeds("-m", "mypy", "-p", "schedlab")
    _succeeds("-m", "mypy", str(ROOT / "tests/python"))


def _succeeds(*arguments: str) -> None:
    done = subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
