#!/bin/sh
# Puts every shipped policy in charge of every kernel with sched_ext that can be had, for hackbench, a mix of tasks, and the
# workloads of the studies, with the events checked against the laws. A policy that stalls, is ejected, or is not given
# back ends its run with an error. One line for each run.
#
#   bench/kernels.sh [SCHEDLAB] [KERNEL:ENGINE:CPUS ...]
#
# POLICIES="cfs alb" tries these only. Needs hackbench (package rt-tests).
set -eu
schedlab=$(realpath "${1:-target/release/schedlab}")
[ $# -gt 0 ] && shift
[ $# -gt 0 ] || set -- debian:13-backports:qemu:1 debian:testing:qemu:1 debian:13-backports:bochs:2
command -v hackbench >/dev/null || { echo "bench/kernels.sh needs hackbench; install rt-tests" >&2; exit 2; }
here=$(realpath "$(dirname "$0")/..")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
failed=0 passed=0

cat >"$work/hackbench.toml" <<'END'
name = "hackbench"

[machine]
cpus = 1

[[task]]
name = "hackbench"
command = ["hackbench", "-g", "1", "-l", "10"]

[run]
duration = "30s"
END

cat >"$work/mixed.toml" <<'END'
name = "mixed"

[machine]
cpus = 1

[[task]]
name = "compute"
count = 4
loop = [{ compute = "1s" }]

[[task]]
name = "medium"
count = 4
loop = [{ compute = "2ms" }, { sleep = "10ms" }]

[[task]]
name = "short"
count = 4
loop = [{ compute = "200us" }, { sleep = "5ms" }]

[run]
duration = "2s"
END

scenarios="$work/hackbench.toml $work/mixed.toml $here/scenarios/heavy-load.toml $here/scenarios/moderate-load.toml"
policies=${POLICIES:-$("$schedlab" policies | sed -n '/^Shipped/,/^$/s/^  \([^ ]\{1,\}\) .*/\1/p')}
for place in "$@"; do
    cpus=${place##*:} rest=${place%:*}
    engine=${rest##*:} kernel=${rest%:*}
    for policy in $policies; do
        for scenario in $scenarios; do
            name=$(basename "$scenario" .toml)
            # The studies' workloads are for 2 CPUs and a minute.
            case $name in hackbench | mixed) limit= ;; *) limit="--duration 3s" ;; esac
            if "$schedlab" run "$scenario" --venue vm --kernel "$kernel" --engine "$engine" --cpus "$cpus" --policy "$policy" \
                $limit --check --quiet >"$work/page" 2>"$work/error"; then
                passed=$((passed + 1))
                printf '%s, %s on %s with %s: ran\n' "$policy" "$name" "$kernel" "$engine"
            else
                failed=$((failed + 1))
                printf '%s, %s on %s with %s: FAILED: %s\n' "$policy" "$name" "$kernel" "$engine" "$(head -n 1 "$work/error")"
            fi
        done
    done
done
printf '%s passed, %s failed\n' "$passed" "$failed"
[ "$failed" = 0 ]
