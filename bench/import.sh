#!/bin/sh
# How long an import takes and how much memory: a text of this many events (default ten million), and a tenth of it.
#
#   bench/import.sh [EVENTS]
#
# Two CPUs on which eight tasks take turns: a wake-up and two switches each, 4.7 us apart. Needs GNU time, and 140 bytes of disk
# for each event, twice.
set -eu

events=${1:-10000000}
schedlab=${SCHEDLAB:-target/release/schedlab}
folder=$(mktemp -d -p .)
trap 'rm -rf "$folder"' EXIT

text() {
    awk -v events="$1" 'function line(ns, who, cpu, what) {
        printf "%s [%03d] %d.%09d: sched:%s\n", who, cpu, ns / 1e9, ns % 1e9, what
    }
    BEGIN {
        split("web db cron log", names, " ")
        for (ns = 1e12; done < events; turn++) {
            cpu = turn % 2; which = int(turn / 2) % 4; name = names[which + 1]; tid = 100 + 2 * which + cpu
            task = "comm=" name " pid=" tid " prio=120"; idle = "swapper/" cpu
            line(ns += 700, "swapper 0", cpu, "sched_wakeup: " task sprintf(" target_cpu=%03d", cpu))
            line(ns += 900, "swapper 0", cpu, "sched_switch: prev_comm=" idle " prev_pid=0 prev_prio=120 prev_state=R ==> " \
                "next_comm=" name " next_pid=" tid " next_prio=120")
            line(ns += 3100, name " " tid, cpu, "sched_switch: prev_comm=" name " prev_pid=" tid " prev_prio=120 prev_state=S ==> " \
                "next_comm=" idle " next_pid=0 next_prio=120")
            done += 3
        }
    }'
}

for count in $((events / 10)) "$events"; do
    text "$count" >"$folder/events.txt"
    command time -f "$count events: %U s of CPU time, %S s in the kernel, %M KiB" "$schedlab" import "$folder/events.txt" -o "$folder/t.parquet" >"$folder/page"
done
