#!/usr/bin/env python3
"""The same sweep from the command line, from Python, and from a cluster of three workers of which one is killed.

Are the tables the same, byte for byte, and what does each take?

Needs the package with polars and Dask, and `SCHEDLAB` for the program: `python bench/cluster.py [RUNS]`.
"""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import polars
from distributed import Client, LocalCluster

import schedlab

SWEEP = """
policy = "rr"
runs = {runs}
measures = ["response_ns.mean", "response_ns.p99", "cpu_share"]
[scenario]
machine = {{ cpus = 2 }}
run = {{ duration = "1s" }}
[[scenario.task]]
name = "t"
count = 8
loop = [{{ compute = "exp(1ms)" }}, {{ sleep = "exp(1ms)" }}]
"""


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sweep = folder / "sweep.toml"
        sweep.write_text(SWEEP.format(runs=runs))
        program = os.environ.get("SCHEDLAB", "target/release/schedlab")
        shell = [program, "sweep", str(sweep), "-o", str(folder / "shell"), "--quiet"]
        _timed("command line", lambda: subprocess.run(shell, check=True))
        _timed("python", lambda: schedlab.sweep(sweep, folder / "python"))
        with (
            LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address=":0") as cluster,
            Client(cluster) as client,
        ):
            killed = threading.Thread(target=_kill_one, args=(client,))
            killed.start()
            _timed("cluster, one of three killed", lambda: schedlab.sweep(sweep, folder / "cluster", client=client))
            killed.join()
        tables = {kind: _rows(folder / kind) for kind in ("shell", "python", "cluster")}
        assert tables["shell"] == tables["python"] == tables["cluster"], "the tables differ"
        print(f"{runs} runs: the three tables are the same {len(tables['shell'])} bytes after sorting")


def _timed(what: str, work: Any) -> None:
    begin = time.perf_counter()
    work()
    print(f"{what}: {time.perf_counter() - begin:.1f} s")


def _rows(folder: Path) -> bytes:
    return polars.read_parquet(folder / "part-*.parquet").sort("run", "role").write_csv().encode()


def _kill_one(client: Any) -> None:
    """Kills a worker when it is at work."""
    while True:
        busy = [worker for worker, tasks in client.processing().items() if tasks]
        if busy:
            pid = next(iter(client.run(os.getpid, workers=busy[:1]).values()))
            os.kill(pid, signal.SIGKILL)
            print(f"killed the worker {pid}")
            return
        time.sleep(0.01)


if __name__ == "__main__":
    main()
