"""Control groups in the simulator and in real kernels: `python bench/group_vectors.py [--cpus 1|2] [--kernels LIST]`.

Each vector is a small scenario with figures that follow from a kernel's rules. It runs under the kernel's own
scheduler in a virtual machine, and under the policy of that version in the simulator. Prints a table in Markdown: what
follows from the rules, and what each gave. Ends with 1 if a figure is further from the rules, or the simulator from the
kernel, than the vector allows.
"""

import argparse
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SCHEDLAB = os.environ.get("SCHEDLAB", "target/release/schedlab")
KERNELS = {
    "debian:12": ("6.1", "cfs:version=6.1"),
    "debian:13": ("6.12", "eevdf:version=6.12"),
    "debian:13-backports": ("7.3", "eevdf:version=7.3"),
}

Run = dict[str, Any]
Figure = Callable[[Run], float]


def role(name: str, *path: str) -> Figure:
    return lambda run: find(next(role for role in run["roles"] if role["name"] == name), path)


def group(path: str, name: str) -> Figure:
    return lambda run: float(next(it for it in run["control_groups"] if it["path"] == path)[name])


def in_all(run: Run) -> float:
    return sum(it["cpu_share"] for it in run["roles"]) * len(run["cpus"])


def waits_for(name: str, least: float) -> Figure:
    return lambda run: float(role(name, "response_ns", "mean")(run) > least)


def find(value: Any, path: tuple[str, ...]) -> float:
    for key in path:
        value = value[key]
    return float(value)


@dataclass
class Expected:
    """A figure of a vector."""

    what: str
    of: Figure
    rule: float
    apart: float  # how far it may be from that, and the two from each other
    unit: float = 1.0
    digits: int = 4


@dataclass
class Vector:
    """A scenario and what follows from the rules."""

    name: str
    groups: list[str]  # "path" or "path: knobs", knobs as in TOML, separated by semicolons
    tasks: list[str]  # "name group: steps", with more keys after a semicolon
    figures: list[Expected]
    duration: str = "8s"
    cpus: int = 1

    def scenario(self) -> str:
        lines = [f'name = "vector"\n[machine]\ncpus = {self.cpus}\nhz = 250\n[run]\nduration = "{self.duration}"']
        for text in self.groups:
            path, _, knobs = text.partition(":")
            lines += ["[[control_group]]", f'path = "{path}"', *knobs.split(";")]
        for text in self.tasks:
            head, _, keys = text.partition(":")
            name, _, path = head.partition(" ")
            lines += ["[[task]]", f'name = "{name}"', *keys.split(";")]
            lines += [f'control_group = "{path}"'] if path else []
        return "\n".join(lines) + "\n"


HOG = 'loop = [{ compute = "1s" }]'
MS, S = 1e6, 1e9


def share(of: str, rule: float, apart: float = 0.002) -> Expected:
    return Expected(f"CPUs of {of}", lambda run: role(of, "cpu_share")(run) * len(run["cpus"]), rule, apart)


def counted(name: str, rule: float) -> Expected:
    return Expected(name, group("a", name), rule, 1, digits=0)


def hogs(name: str, path: str, count: int) -> str:
    return f"{name} {path}: {HOG}; count = {count}".replace(" :", ":")


def by_weight(n: int, m: int) -> Vector:
    return Vector(
        f"groups of weight 100 and 300 with {n} and {m} hogs",
        ["a", "b: weight = 300"],
        [hogs("x", "a", n), hogs("y", "b", m)],
        [share("x", 0.25), share("y", 0.75)],
    )


VECTORS = [
    *(by_weight(n, m) for n, m in [(1, 1), (3, 1), (1, 3)]),
    Vector(
        "groups in a group: a {b, c} next to d of weight 200",
        ["a", "a/b", "a/c", "d: weight = 200"],
        [hogs("x", "a/b", 1), hogs("y", "a/c", 1), hogs("z", "d", 1)],
        [share("x", 1 / 6), share("y", 1 / 6), share("z", 2 / 3)],
    ),
    Vector(
        "nice values in groups: 0 and 5 in one, 19 in the other",
        ["a", "b"],
        [hogs("x", "a", 1), hogs("y", "a", 1) + "; nice = 5", hogs("z", "b", 1) + "; nice = 19"],
        [share("x", 0.3768), share("y", 0.1232), share("z", 0.5)],
    ),
    Vector(
        "three hogs of the root next to a group of two",
        ["a"],
        [hogs("root", "", 3), hogs("x", "a", 2)],
        [share("root", 0.75), share("x", 0.25)],
    ),
    Vector(
        "an idle group next to one of weight 100",
        ["a: idle = true", "b"],
        [hogs("x", "a", 1), hogs("y", "b", 1)],
        [share("x", 3 / 1027), share("y", 1024 / 1027)],
    ),
    Vector(
        "weights 1 and 10000",
        ["a: weight = 1", "b: weight = 10000"],
        [hogs("x", "a", 1), hogs("y", "b", 1)],
        [share("x", 10 / 102410), share("y", 102400 / 102410)],
    ),
    Vector(
        "weights 50, 100 and 150",
        ["a: weight = 50", "b", "c: weight = 150"],
        [hogs("x", "a", 1), hogs("y", "b", 1), hogs("z", "c", 1)],
        [share("x", 1 / 6), share("y", 1 / 3), share("z", 1 / 2)],
    ),
    Vector(
        "a quota of 50 ms in 100, a hog, ten seconds",
        ["a: max = '50ms/100ms'"],
        [hogs("x", "a", 1)],
        [
            # The ten seconds begin anywhere in a period, so that there may be one quota more in them.
            share("x", 0.5, 0.006),
            counted("nr_periods", 100),
            counted("nr_throttled", 100),
            Expected("throttled s", group("a", "throttled_ns"), 5, 0.06, S, 3),
        ],
        "10s",
    ),
    Vector(
        "a quota of 10 ms in 100, a hog",
        ["a: max = '10ms/100ms'"],
        [hogs("x", "a", 1)],
        [
            share("x", 0.1, 0.003),
            counted("nr_throttled", 100),
        ],
        "10s",
    ),
    Vector(
        "1 ms in 100 ms for a second",
        ["a: max = '1ms/100ms'"],
        [hogs("x", "a", 1)],
        [Expected("CPU time ms", group("a", "usage_ns"), 10, 4, MS, 2)],
        "1s",
    ),
    Vector(
        "38 ms of work each 338 ms, quota 20 ms, burst 20 ms",
        ["a: max = '20ms/100ms'; burst = '20ms'"],
        ["x a: loop = [{ compute = '38ms' }, { sleep = '300ms' }]"],
        [
            Expected("mean response ms", role("x", "response_ns", "mean"), 38, 0.6, MS, 2),
            counted("nr_throttled", 0),
        ],
        "6s",
    ),
    Vector(
        "12 ms of work after 12 ms of sleep, quota 50 ms in 100",
        ["a: max = '50ms/100ms'"],
        ["x a: loop = [{ compute = '12ms' }, { sleep = '1ns' }]"],
        [Expected("mean response ms", role("x", "response_ns", "mean"), 24, 0.5, MS, 2)],
        "10s",
    ),
    Vector(
        "a lock is held through a throttle: quota 10 ms, 20 ms of work under it",
        ["a: max = '10ms/100ms'"],
        [
            "x a: once = [{ lock = 'm' }, { compute = '20ms' }, { unlock = 'm' }]",
            "y: start = '5ms'; once = [{ lock = 'm' }, { compute = '1us' }, { unlock = 'm' }]",
            "z: once = [{ sleep = '400ms' }]",
        ],
        # How long depends on where the period begins: 15 ms of work are left, and the owner rests until the next one.
        [
            Expected("the other waits for the next period", waits_for("y", 30 * MS), 1, 0, digits=0),
            Expected("is throttled", lambda run: min(group("a", "nr_throttled")(run), 1), 1, 0, digits=0),
        ],
        "500ms",
    ),
    Vector(
        "use stops: two periods more are counted",
        ["a: max = '50ms/100ms'"],
        ["x a: once = [{ compute = '30ms' }]", "y: once = [{ sleep = '2s' }]"],
        [counted("nr_periods", 2)],
        "3s",
    ),
    Vector(
        "a hog of each of two groups, weights 100 and 300, pinned on each of two CPUs",
        ["a", "b: weight = 300"],
        [f"{name}{cpu} {path}: {HOG}; cpus = [{cpu}]" for cpu in (0, 1) for name, path in (("x", "a"), ("y", "b"))],
        [share("x0", 0.25), share("y0", 0.75), share("x1", 0.25), share("y1", 0.75)],
        "4s",
        2,
    ),
    Vector(
        "weights do not matter where there are CPUs for all",
        ["a", "b: weight = 300"],
        [hogs("x", "a", 1), hogs("y", "b", 1)],
        [share("x", 1.0, 0.005), share("y", 1.0, 0.005)],
        "4s",
        2,
    ),
    Vector(
        "CPU 0: one of each group; CPU 1: one of b; equal weights",
        ["a", "b"],
        [f"x a: {HOG}; cpus = [0]", f"y0 b: {HOG}; cpus = [0]", f"y1 b: {HOG}; cpus = [1]"],
        [share("x", 2 / 3, 0.01), share("y0", 1 / 3, 0.01), share("y1", 1.0, 0.005)],
        "6s",
        2,
    ),
    Vector(
        "a parent's quota of 50 ms in 100 for a child on each of two CPUs",
        ["p: max = '50ms/100ms'", "p/a", "p/b"],
        [f"x p/a: {HOG}; cpus = [0]", f"y p/b: {HOG}; cpus = [1]"],
        # Which of the two takes a slice of 5 ms first after a refill, and keeps it to its tick, need not change.
        [share("x", 0.25, 0.06), share("y", 0.25, 0.06), Expected("CPUs of both", in_all, 0.5, 0.01)],
        "6s",
        2,
    ),
]


def run(vector: Vector, flags: list[str]) -> Run | str:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "vector.toml"
        file.write_text(vector.scenario())
        command = [SCHEDLAB, "run", str(file), "--json", "--quiet", *flags]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else done.stderr.strip()


def row(vector: Vector, figure: Expected, pairs: list[tuple[Run | str, ...]]) -> tuple[str, bool]:
    """A row of the table: what follows from the rules, and what each kernel and its policy gave; is all of it near?"""
    digits, is_near, cells = figure.digits, True, []
    for real, simulated in pairs:
        failed = next((it for it in (real, simulated) if isinstance(it, str)), None)
        if failed is not None:
            cells, is_near = [*cells, f"failed: {failed.splitlines()[0]}", ""], False
            continue
        there, here = (figure.of(it) / figure.unit for it in (real, simulated))
        is_near &= max(abs(there - figure.rule), abs(here - figure.rule), abs(here - there)) <= figure.apart
        cells += [f"{there:.{digits}f}", f"{here:.{digits}f}"]
    apart = f"{figure.apart:g}{'' if is_near else ': **missed**'}"
    texts = [vector.name, figure.what, f"{figure.rule:.{digits}f}", *cells, apart]
    return "| " + " | ".join(texts) + " |", is_near


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cpus", type=int, help="only vectors for this number of CPUs")
    parser.add_argument("--kernels", default=",".join(KERNELS), help="which kernels, by name")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="how many runs at a time")
    flags = parser.parse_args()
    kernels = flags.kernels.split(",")
    virtual = ["--venue", "vm", "--no-costs", "--policy", "kernel", "--kernel"]
    missed = 0
    with concurrent.futures.ThreadPoolExecutor(flags.threads) as pool:
        wanted = [vector for vector in VECTORS if flags.cpus in (None, vector.cpus)]
        places = [([*virtual, kernel], ["--policy", KERNELS[kernel][1]]) for kernel in kernels]
        runs = [[[pool.submit(run, vector, place) for place in both] for both in places] for vector in wanted]
        heads = "".join(f" {KERNELS[kernel][0]} | in sim |" for kernel in kernels)
        print(f"| vector | figure | by the rules |{heads} may be apart |\n|---|---|---|{'---|---|' * len(kernels)}---|")
        for vector, of_vector in zip(wanted, runs, strict=True):
            pairs = [tuple(future.result() for future in both) for both in of_vector]
            for figure in vector.figures:
                line, is_near = row(vector, figure, pairs)
                print(line, flush=True)
                missed += not is_near
    print(f"{missed} figures missed", file=sys.stderr)
    return missed > 0


if __name__ == "__main__":
    sys.exit(main())
