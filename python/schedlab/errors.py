"""What can go wrong. The message is the line that the command line prints."""


class SchedlabError(Exception):
    """Anything that schedlab complains about, but for wrong types."""


class InputError(SchedlabError, ValueError):
    """Input that cannot be used: nothing has run."""


class NotFoundError(InputError, FileNotFoundError):
    """A file or a name that is not there."""


class RunError(SchedlabError, RuntimeError):
    """The input was good, and something failed: the policy, the machine, the disk."""
