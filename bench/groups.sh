#!/bin/sh
# What control groups cost the simulator: thousands of pods with a limit each, one task in each, on 64 CPUs, under policies
# that obey limits and weights and under one that ignores both. Needs GNU time and a built target/release/schedlab.
set -eu
cd "$(dirname "$0")/.."
schedlab=${SCHEDLAB:-target/release/schedlab}
groups=${1:-2500}
rounds=${2:-3}
file=$(mktemp --suffix .toml)
trap 'rm -f "$file"' EXIT

cat >"$file" <<EOF
name = "pods"
[machine]
cpus = 64
[run]
duration = "10s"
EOF
i=0
while [ "$i" -lt "$groups" ]; do
    cat <<EOF
[[control_group]]
path = "pods/p$i"
max = "10ms/100ms"
[[task]]
name = "t$i"
control_group = "pods/p$i"
loop = [{ compute = "exp(2ms)" }, { sleep = "exp(80ms)" }]
EOF
    i=$((i + 1))
done >>"$file"

round=0
while [ "$round" -lt "$rounds" ]; do
    for policy in eevdf:groups=none cfs eevdf:version=7.3; do
        # CPU seconds and KiB behind the number of switches.
        command time -f 'spent %U %S %M' "$schedlab" run "$file" --policy "$policy" --quiet 2>&1 |
            awk -v policy="$policy" '$1 == "events" { switches = $2 } $1 == "spent" { print policy, switches, $2 + $3, $4 }'
    done
    round=$((round + 1))
done | awk '
    $1 == "eevdf:groups=none" { base = $3 / $2 }
    { printf "%-18s %7d switches  %6.2f s  %5.2f us for each, %4.1f times without groups  %4d MiB\n",
             $1, $2, $3, 1e6 * $3 / $2, $3 / $2 / base, $4 / 1024 }'
