"""Repeats an unchanged gate, and counts what it reports: `python bench/alarms.py [REPETITIONS]`.

Any change of any value, by one nanosecond, fails this gate, so a false alarm cannot hide within a tolerance.
Conditions change: new processes have other addresses, folders, time zones and languages, one thread or several, and
every other process has busy neighbours. Ends with 0 if no repetition reported anything.
"""

import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SCENARIOS = ["disk-io", "lock-contention", "producer-consumer"]
POLICIES = ["rr", "ule", "eevdf"]
GATE = f"""
scenario = {SCENARIOS}
policy = {POLICIES}
duration = "100ms"

[[check]]
metric = ["jain", "migrations", "events.switches"]
differs = 0

[[check]]
metric = ["response_ns.p50", "response_ns.p99", "longest_wait_ns", "work_conservation_violation.ns"]
differs = "0ns"
"""
OF_ONE_PROCESS = 100


def repeat(file: str, process: int, count: int) -> list[str]:
    """What `count` repetitions reported, in this process."""
    os.environ["TZ"] = ["UTC", "Asia/Kathmandu", "America/St_Johns"][process % 3]
    os.environ["LANG"] = ["C", "de_DE.UTF-8"][process % 2]
    os.environ["SOMETHING"] = "x" * (process * 37 % 4096)
    time.tzset()
    folder = tempfile.TemporaryDirectory()
    os.chdir(folder.name)
    neighbours = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(process % 2 * 2)]
    import schedlab

    alarms = []
    try:
        for _ in range(count):
            gate = schedlab.gate(file, fresh=True, threads=process % 3 + 1)
            if not gate.passed or gate.counts["better"] or gate.counts["within"]:
                alarms.append(str(gate))
    finally:
        for neighbour in neighbours:
            neighbour.kill()
        os.chdir("/")
        folder.cleanup()
    return alarms


def main() -> int:
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder) / "unchanged.gate.toml")
        Path(file).write_text(GATE)
        fresh = multiprocessing.get_context("spawn")
        with fresh.Pool(1) as pool:
            checks = pool.apply(first, (file,))
        rounds = [min(OF_ONE_PROCESS, repetitions - done) for done in range(0, repetitions, OF_ONE_PROCESS)]
        alarms = []
        with fresh.Pool(os.cpu_count(), maxtasksperchild=1) as pool:
            results = [pool.apply_async(repeat, (file, process, count)) for process, count in enumerate(rounds)]
            for number, result in enumerate(results):
                alarms += result.get()
                print(
                    f"\r{sum(rounds[: number + 1])} repetitions, {len(alarms)} alarms",
                    end="",
                    file=sys.stderr,
                    flush=True,
                )
    for alarm in alarms[:3]:
        print(alarm)
    print(f"{repetitions} repetitions of {checks} checks in {len(rounds)} processes: {len(alarms)} alarms")
    return 1 if alarms else 0


def first(file: str) -> int:
    """Writes the baseline. How many checks the gate has."""
    import schedlab

    return schedlab.gate(file, update=True, fresh=True).counts["checks"]


if __name__ == "__main__":
    sys.exit(main())
