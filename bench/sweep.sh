#!/bin/sh
# How a sweep of many short runs scales from one CPU to two, what a run costs beside its simulation, and whether memory
# grows with the number of runs. Needs GNU time and a built target/release/schedlab.
set -eu
cd "$(dirname "$0")/.."
schedlab=${SCHEDLAB:-target/release/schedlab}
runs=${1:-10000}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# sweep NAME RUNS DURATION THREADS: prints seconds, then KiB.
sweep() {
    cat >"$folder/$1.toml" <<EOF
policy = "rr"
runs = $2
measures = ["response_ns.mean", "response_ns.p99", "cpu_share"]
[scenario]
machine = { cpus = 2 }
run = { duration = "$3" }
[[scenario.task]]
name = "t"
count = 8
loop = [{ compute = "exp(1ms)" }, { sleep = "exp(1ms)" }]
EOF
    command time -f '%e %M' "$schedlab" sweep "$folder/$1.toml" -o "$folder/$1" --threads "$4" --quiet 2>&1
}

one=$(sweep one "$runs" 1s 1)
two=$(sweep two "$runs" 1s 2)
again=$(sweep again "$runs" 1s 1)
empty=$(sweep empty "$runs" 1ns 1)
tenth=$(sweep tenth $((runs / 10)) 1s 2)
echo "$one $two $again $empty $tenth" | awk -v runs="$runs" '{
    single = ($1 + $5) / 2
    printf "%d runs of 1 s: %.1f s and %.1f s on one CPU, %.1f s on two: %.2f of ideal\n", runs, $1, $5, $3, single / $3 / 2
    printf "a run that simulates nothing: %.2f ms\n", 1000 * $7 / runs
    printf "memory on two CPUs: %d KiB, with a tenth of the runs %d KiB\n", $4, $10
}'
