"""What can go wrong. The message is the line that the command line prints."""

from __future__ import annotations

import errno
import os


class SchedlabError(Exception):
    """Anything that schedlab complains about, but for wrong types."""


class InputError(SchedlabError, ValueError):
    """Input that cannot be used: nothing has run."""


class NotFoundError(InputError, FileNotFoundError):
    """A file or a name that is not there. Of a file, ``filename`` is its path and ``errno`` is ``ENOENT``; of a name
    both are None."""

    def __init__(self, line: str, filename: str | None = None) -> None:
        super().__init__(line)
        if filename is not None:
            self.errno, self.strerror, self.filename = errno.ENOENT, os.strerror(errno.ENOENT), filename

    def __str__(self) -> str:
        return str(self.args[0])

    def __reduce__(self) -> tuple[type[NotFoundError], tuple[str, str | None]]:
        return type(self), (self.args[0], self.filename)


class RunError(SchedlabError, RuntimeError):
    """The input was good, and something failed: the policy, the machine, the disk. If a policy in Python raised an
    exception, that is the cause (``__cause__``), with its own traceback."""
