#!/usr/bin/env python3
"""Search for public faults of sched_ext schedulers before and after their fixes.

The table faults.toml names each fault: the repository, the commit that fixes it, the source, and how to search. For
each fault this program takes the source as it was before the fix and after it, and runs `schedlab search` on both. The
fault must show before the fix and be gone after it. The scenarios go to OUTPUT/NAME/before and OUTPUT/NAME/after.
A scenario that was kept in scenarios/NAME.toml must fail before the fix and run after it.

    faults.py --schedlab target/release/schedlab
    faults.py --clone ~/scx --only bpfland-shared-queue,mitosis-local-queue

Without --clone git fetches the repositories. Ends with 0 if every fault behaved so, and with 1 otherwise.
"""

import argparse
import json
import os
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import tomllib

HERE = Path(__file__).resolve().parent


def git(repository, *arguments):
    return subprocess.run(["git", "-C", repository, *arguments], check=True, stdout=subprocess.PIPE).stdout


def repository_of(fault, arguments):
    """The folder of a clone that has the fixing commit and its parent."""
    if arguments.clone:
        return arguments.clone
    folder = arguments.output / "repositories" / fault["repository"].replace("/", "-")
    if not folder.exists():
        folder.mkdir(parents=True)
        git(folder, "init", "--quiet", "--bare")
    parent = fault["fix"] + "^^{tree}"
    if subprocess.run(["git", "-C", folder, "cat-file", "-e", parent], stderr=subprocess.DEVNULL).returncode:
        address = f"https://github.com/{fault['repository']}"
        git(folder, "fetch", "--quiet", "--depth", "2", address, fault["fix"])
    return folder


def checkout(repository, commit, fault, folder):
    """Writes the scheduler's folder and its headers as of a commit. Returns the file to give to schedlab."""
    source = fault["source"]
    wanted = [os.path.dirname(source), *fault.get("headers", [])]
    there = git(repository, "ls-tree", "--name-only", commit, *wanted).decode().split()
    folder.mkdir(parents=True, exist_ok=True)
    # The types must be those of the kernel that schedlab simulates: the values of some flags differ between kernels.
    others = [":(exclude,glob)**/vmlinux*", ":(exclude,glob)**/vmlinux*/**"]
    command = ["git", "-C", repository, "archive", commit, "--", *there, *others]
    archive = subprocess.Popen(command, stdout=subprocess.PIPE)
    with tarfile.open(fileobj=archive.stdout, mode="r|") as tar:
        tar.extractall(folder, filter="data")
    if archive.wait():
        raise subprocess.CalledProcessError(archive.returncode, "git archive")
    file = folder / source
    lines = [f"#define {old} {new}" for old, new in fault.get("define", {}).items()]
    if "replace" in fault:
        lines.append("#include <scx/common.bpf.h>")
        lines += [f"#define {old} {new}" for old, new in fault["replace"].items()]
    if lines:
        lines.append(f'#include "{file.name}"')
        file = file.with_name("whole.bpf.c")
        file.write_text("\n".join(lines) + "\n")
    return file


def policy_of(fault, file):
    """The policy as schedlab takes it."""
    return str(file) + (":" + fault["parameters"] if "parameters" in fault else "")


def search(fault, file, folder, arguments):
    """What a search finds: its JSON, and the seconds it took."""
    command = [arguments.schedlab, "search", "--policy", policy_of(fault, file), *fault["search"]]
    command += ["--json", "--quiet", "-o", str(folder)]
    if arguments.threads:
        command += ["--threads", str(arguments.threads)]
    if arguments.verbose:
        print(*command, file=sys.stderr)
    begin = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode not in (0, 5):
        raise subprocess.CalledProcessError(done.returncode, command)
    return json.loads(done.stdout), time.monotonic() - begin


def kind(finding):
    """The name of a finding; a failure of the policy has words too."""
    name = finding["finding"]["kind"]
    return name if isinstance(name, str) else ": ".join(next(iter(name.items())))


def shows(finding, fault):
    """Whether a finding of a search is the fault."""
    return kind(finding).startswith(fault["finding"]) and fault.get("words", "") in finding["finding"]["what"]


def fails(scenario, fault, file, arguments):
    """Whether the policy fails in a scenario."""
    command = [arguments.schedlab, "run", str(scenario), "--policy", policy_of(fault, file)]
    code = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
    if code not in (0, 1):
        raise subprocess.CalledProcessError(code, command)
    return code == 1


def try_fault(fault, arguments):
    """A row of the table, and whether all is as it should be."""
    repository = repository_of(fault, arguments)
    folder = arguments.output / fault["name"]
    results = {}
    for when, commit in (("before", fault["fix"] + "^"), ("after", fault["fix"])):
        commit = git(repository, "rev-parse", commit).decode().strip()
        file = checkout(repository, commit, fault, folder / "source" / when)
        found, seconds = search(fault, file, folder / when, arguments)
        results[when] = (file, found, seconds)
    before, after = results["before"], results["after"]
    wanted = [finding for finding in before[1]["found"] if shows(finding, fault)]
    others = [kind(finding) for finding in before[1]["found"] if not shows(finding, fault)]
    remains = [finding for finding in after[1]["found"] if shows(finding, fault)]
    new = [kind(finding) for finding in after[1]["found"] if not shows(finding, fault)]
    row = [fault["name"], f"{before[1]['scenarios']}", f"{before[2]:.0f}"]
    if wanted:
        first = min(wanted, key=lambda finding: finding["seed"])
        row += [f"seed {first['seed']}, {sum(finding['times'] for finding in wanted)}×", f"{first['lines']}"]
    else:
        row += ["not found", "-"]
    row += ["still there" if remains else "gone", f"{after[2]:.0f}"]
    good = bool(wanted) and not remains
    kept = HERE / "scenarios" / (fault["name"] + ".toml")
    if kept.exists():
        right = fails(kept, fault, before[0], arguments) and not fails(kept, fault, after[0], arguments)
        row.append("fails, then runs" if right else "not so")
        good = good and right
    else:
        row.append("-")
    notes = []
    if others:
        notes.append(f"{fault['name']}, before the fix also: {', '.join(others)}")
    if new:
        notes.append(f"{fault['name']}, after the fix: {', '.join(new)}")
    return row, notes, good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--schedlab", default="schedlab", help="the program")
    parser.add_argument("--faults", type=Path, default=HERE / "faults.toml", help="the table of faults")
    parser.add_argument("--clone", help="a clone that has all commits; nothing is fetched")
    parser.add_argument("--output", type=Path, default=Path("public-faults"), help="a folder for sources and findings")
    parser.add_argument("--only", help="names of faults, a list with commas")
    parser.add_argument("--threads", type=int, help="how many runs may happen at once")
    parser.add_argument("--verbose", action="store_true", help="print the commands")
    arguments = parser.parse_args()
    faults = tomllib.loads(arguments.faults.read_text())["fault"]
    if arguments.only:
        names = arguments.only.split(",")
        faults = [fault for fault in faults if fault["name"] in names]
    table = [["fault", "scenarios", "s", "found", "lines", "after the fix", "s", "kept scenario"]]
    notes, good = [], True
    for fault in faults:
        row, more, right = try_fault(fault, arguments)
        table.append(row)
        notes += more
        good = good and right
        print(*row, sep="  ", file=sys.stderr)
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    for row in table:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    for note in notes:
        print(note)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
