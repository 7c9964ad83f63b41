"""What each mechanism and cost is worth: `python bench/agreement/ablation.py --family-seed N [--page FILE]`.

Judges the same cells as `schedlab agreement --family all`, first as they are, then with mechanisms or costs of one
kind removed from the simulated machine. A kernel's runs are kept, so only the simulator runs again. Prints a table in
Markdown: how many cells agree, are undecided and are biased, in which families, and the figure that is furthest
outside its bound. With --page it also writes the table between the lines `<!-- ablation -->` and `<!-- /ablation -->`
of that file.
"""

import argparse
import json
import os
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

SCHEDLAB = os.environ.get("SCHEDLAB", "target/release/schedlab")
Cell = dict[str, Any]

PROCESSES = (
    "process_fork,process_fork_thread,process_return,process_copy,process_start,process_start_shared,"
    "process_start_first,process_start_thread,process_exit,process_exit_thread"
)
REMOVED = {
    "woken tasks try again (`retry`)": "retry",
    "wake-ups one by one (`wake_one_by_one`)": "wake_one_by_one",
    "preemption between them (`preempt_in_calls`)": "preempt_in_calls",
    "one fork at a time (`one_fork_at_a_time`)": "one_fork_at_a_time",
    "locks of sockets (`socket_lock`)": "socket_lock",
    "pages that pipes keep (`pipe_keeps_two`)": "pipe_keeps_two",
    "`switch`": "switch",
    "`wakeup`": "wakeup",
    "`preempt`": "preempt",
    "`timer`": "timer",
    "`tick`": "tick",
    "`idle_exit`": "idle_exit",
    "`sleep`, `resume`": "sleep,resume",
    "lives of threads (`fork`, `start`, `exit`)": "fork,start,exit",
    "lives of processes (`process_*`)": PROCESSES,
    "`arrival`, `process_arrival`": "arrival,process_arrival",
    "`grace_period`, `reclaim`": "grace_period,reclaim",
    "`io`": "io",
    "futexes (`futex_*`, `semaphore`)": "futex_wait,futex_wake,semaphore",
    "requests (`request*`)": "request,request_send,request_recv",
    "pipes (`pipe_*`)": "pipe_send,pipe_recv,pipe_alloc,pipe_free,pipe_wait,pipe_resume",
    "sockets (`socket_*`)": "socket_send,socket_recv,socket_wait,socket_resume",
}


def judged(args: argparse.Namespace, removed: str | None) -> list[Cell]:
    command = [SCHEDLAB, "agreement", "--family", "all", "--family-seed", str(args.family_seed)]
    command += ["--policy", args.policy, "--length", str(args.length)]
    command += ["--seeds", str(args.seeds), "--copies", str(args.copies)]
    command += ["--quiet", "--json"] + (["--without", removed] if removed else [])
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode not in (0, 1, 3):
        raise SystemExit(done.returncode)
    cells: list[Cell] = json.loads(done.stdout)["cells"]
    return cells


def place(cell: Cell) -> tuple[str, str]:
    return cell["scenario"], cell["policy"]


def off(figure: dict[str, Any]) -> float:
    return abs(figure["bias"]) / figure["bound"]


def furthest(cells: list[Cell], agreed: set[tuple[str, str]]) -> str:
    """The figure that is furthest off, of biased cells; where there are none, of those that agreed with everything."""
    biased = [cell for cell in cells if cell["verdict"] == "biased"]
    lost = biased or [cell for cell in cells if cell["verdict"] != "agrees" and place(cell) in agreed]
    figures = [(off(it), it, cell) for cell in lost for it in cell["figures"] if it.get("bias") is not None]
    if not figures:
        return ""
    _, figure, cell = max(figures, key=lambda it: it[0])
    unit = "pt" if figure["figure"] == "share" else "%"
    name = "CPU share" if figure["figure"] == "share" else figure["figure"]
    where = f"{figure['role']} in *{cell['family']}* under {cell['policy']}"
    return f"{name} of {where}: {100 * figure['bias']:+.1f} {unit}"


def row(label: str, cells: list[Cell], agreed: set[tuple[str, str]]) -> str:
    count = Counter(cell["verdict"] for cell in cells)
    families = Counter(cell["family"] for cell in cells if cell["verdict"] == "biased")
    where = ", ".join(f"{family} {number}" for family, number in sorted(families.items()))
    counts = " | ".join(str(count[verdict]) for verdict in ("agrees", "undecided", "biased"))
    return f"| {label} | {counts} | {where} | {furthest(cells, agreed)} |"


def write(page: Path, table: str) -> None:
    begin, end = "<!-- ablation -->\n", "<!-- /ablation -->"
    head, rest = page.read_text().split(begin)
    page.write_text(f"{head}{begin}\n{table}\n{end}{rest.split(end)[1]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--family-seed", type=int, required=True)
    parser.add_argument("--policy", default="rr,cfs,eevdf,ule")
    parser.add_argument("--length", type=int, default=4)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--copies", type=int, default=4)
    parser.add_argument("--page", type=Path)
    args = parser.parse_args()
    whole = judged(args, None)
    agreed = {place(cell) for cell in whole if cell["verdict"] == "agrees"}
    removed = REMOVED | {"all of these": ",".join(REMOVED.values())}
    rows = ["| without | agree | undecided | biased | biased in | furthest off |", "|---|---|---|---|---|---|"]
    rows.append(row("nothing: the whole machine", whole, agreed))
    rows += [row(label, judged(args, names), agreed) for label, names in removed.items()]
    table = "\n".join(rows) + "\n"
    print(table, end="")
    if args.page:
        write(args.page, table)


main()
