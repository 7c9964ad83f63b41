"""What several tests need."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]

SMALL: dict[str, Any] = {
    "name": "small",
    "machine": {"cpus": 1},
    "task": [
        {"name": "worker", "count": 2, "loop": [{"compute": "exp(2ms)"}]},
        {"name": "shell", "loop": [{"sleep": "10ms"}, {"compute": "100us"}]},
    ],
    "run": {"duration": "200ms", "seed": 7},
}


LIMITED: dict[str, Any] = {
    "name": "limited",
    "machine": {"cpus": 1, "hz": 1000},
    "control_group": [{"path": "web", "max": "50ms/100ms"}, {"path": "idle", "weight": 50}],
    "task": [{"name": "server", "control_group": "web", "loop": [{"compute": "12ms"}, {"sleep": "8ms"}]}],
    "run": {"duration": "2s", "seed": 7},
}


@contextmanager
def a_worker_dies(client: Any) -> Iterator[None]:
    """Kills a worker of a Dask cluster as soon as it is at work. What is done meanwhile ends only after that."""
    with ThreadPoolExecutor(1) as pool:
        killed = pool.submit(_kill_one, client)
        yield
        killed.result()


def _kill_one(client: Any) -> None:
    for _ in range(2000):
        busy = [worker for worker, tasks in client.processing().items() if tasks]
        if busy:
            pids = client.run(os.getpid, workers=busy[:1])
            os.kill(next(iter(pids.values())), signal.SIGKILL)
            return
        time.sleep(0.01)
    raise AssertionError("no worker was ever at work")


@pytest.fixture
def limited() -> dict[str, Any]:
    """60 ms of work in each 100 ms, with a limit of 50."""
    return LIMITED


@pytest.fixture
def small() -> dict[str, Any]:
    """A scenario that takes no time."""
    return SMALL


class CommandLine:
    """The program beside the package."""

    def __init__(self, program: str, folder: Path) -> None:
        self.program = program
        self.folder = folder

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([self.program, *arguments], cwd=self.folder, capture_output=True, text=True, check=False)

    def out(self, *arguments: str) -> str:
        done = self.run(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def complaint(self, *arguments: str) -> str:
        done = self.run(*arguments)
        assert done.returncode == 2 and done.stderr.count("\n") == 1, done
        return done.stderr.removeprefix("schedlab: ").rstrip("\n")


@pytest.fixture
def command_line(tmp_path: Path) -> CommandLine:
    """`schedlab`, in a folder of its own."""
    return CommandLine(os.environ["SCHEDLAB"], tmp_path)
