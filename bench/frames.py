#!/usr/bin/env python3
"""How long a trace of ten million events takes to become a polars frame, and what memory it takes.

Memory that grows by the frame's own size when it is read, and by nothing when polars takes it, is memory that was not
copied twice. Run it with the package installed: `python bench/frames.py [EVENTS]`.
"""

import resource
import sys
import tempfile
import time
from pathlib import Path

import schedlab


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def main() -> None:
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    import polars

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.parquet"
        per_second = 6_000
        scenario = schedlab.Scenario(
            name="events",
            machine={"cpus": 2},
            task=[{"name": "worker", "count": 4, "loop": [{"compute": "1ms"}]}],
            run={"duration": f"{max(1, wanted // per_second)}s"},
        )
        _write(scenario, path)
        before, begin = resident_bytes(), time.perf_counter()
        trace = schedlab.read_trace(path)
        read, at_read = time.perf_counter() - begin, resident_bytes()
        frame = trace.events.to_polars()
        taken, at_taken = time.perf_counter() - begin - read, resident_bytes()
        mib = 1 << 20
        print(f"polars {polars.__version__}, {len(frame)} events, {path.stat().st_size / mib:.0f} MiB of Parquet")
        print(
            f"read {read:.3f} s, {(at_read - before) / mib:.0f} MiB; taken by polars {taken:.3f} s, "
            f"{(at_taken - at_read) / mib:.0f} MiB of {frame.estimated_size() / mib:.0f} MiB"
        )


def _write(scenario: schedlab.Scenario, path: Path) -> None:
    from schedlab import _schedlab

    _schedlab.run(
        scenario, "rr:quantum=1ms", ["sim"], seed=1, runs=1, threads=1, kernel="debian:12", engine=None, load="spin",
        unchecked=False, check=False, traces=[path], listens=False,
    )  # fmt: skip


if __name__ == "__main__":
    main()
