"""The command `schedlab`, which the wheel brings."""

import os
import sys
from pathlib import Path

PROGRAM = Path(__file__).with_name("schedlab")


def main() -> None:
    """Becomes the command."""
    if not PROGRAM.exists():
        sys.exit("schedlab: this package was built without the command: install the wheel that `make python` builds")
    os.execv(PROGRAM, ["schedlab", *sys.argv[1:]])
