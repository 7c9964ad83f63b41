#!/bin/sh
# Runs every scenario twice in each emulator and holds result and trace against each other, byte for byte. The second run is
# another user's on another machine, as far as one can have that: another folder, environment and time, and a busy process on
# each core. Scenarios of more CPUs than an emulator has are run on as many as it has; of tens of thousands of tasks, which a
# small guest could not even begin, a thousandth is taken.
#
#   [ONLY='NAME ...'] bench/repeats.sh [SCHEDLAB] [ENGINE:CPUS ...]
set -eu
schedlab=$(realpath "${1:-target/release/schedlab}")
[ $# -gt 0 ] && shift
[ $# -gt 0 ] || set -- qemu:1 bochs:2
here=$(realpath "$(dirname "$0")/..")
work=$(mktemp -d)
busy=
trap 'kill $busy 2>/dev/null || true; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
failed=0 passed=0

# The scenario, without a long time for which it would not be measured, and of very many tasks a thousandth.
shortened() { # SCENARIO
    mkdir -p "$work/scenarios"
    sed -E -e 's/^warmup = "[0-9]{2,}s"/warmup = "100ms"/' -e 's/^(count = [0-9]{2})[0-9]{3}$/\1/' "$here/scenarios/$1.toml" \
        >"$work/scenarios/$1.toml"
    echo "$work/scenarios/$1.toml"
}

# A second more than the warm-up, if there is one.
duration() { # FILE
    warmup=$(sed -n 's/^warmup = "\([0-9]*\)s".*/\1/p' "$1")
    if [ "$warmup" ]; then echo "$((warmup + 1))s"; else echo 300ms; fi
}

once() { # FOLDER SCENARIO ENGINE CPUS
    mkdir -p "$work/$1"
    scenario=$(shortened "$2")
    (cd "$work/$1" && "$schedlab" run "$scenario" --venue vm --policy kernel --kernel debian:12 --engine "$3" --cpus "$4" \
        --duration "$(duration "$scenario")" --check --quiet --json --trace t.parquet >result.json 2>error.txt)
}

for place in "$@"; do
    engine=${place%%:*} cpus=${place##*:}
    for file in "$here"/scenarios/*.toml; do
        name=$(basename "$file" .toml)
        case " ${ONLY:-$name} " in *" $name "*) ;; *) continue ;; esac
        if ! once first "$name" "$engine" "$cpus"; then
            failed=$((failed + 1))
            printf '%s on %s: cannot be run: %s\n' "$name" "$engine" "$(head -n 1 "$work/first/error.txt")"
            continue
        fi
        for _ in $(seq "$(nproc)"); do
            sh -c 'while :; do :; done' &
            busy="$busy $!"
        done
        TZ=Asia/Kathmandu LANG=C SOMETHING=else once second/deeper "$name" "$engine" "$cpus" || true
        kill $busy
        busy=
        if cmp -s "$work/first/result.json" "$work/second/deeper/result.json" &&
            cmp -s "$work/first/t.parquet" "$work/second/deeper/t.parquet"; then
            passed=$((passed + 1))
            printf '%s on %s with %s: the same, %s bytes of result, %s of trace\n' "$name" "$engine" "$cpus" \
                "$(wc -c <"$work/first/result.json")" "$(wc -c <"$work/first/t.parquet")"
        else
            failed=$((failed + 1))
            printf '%s on %s with %s: NOT the same\n' "$name" "$engine" "$cpus"
        fi
    done
done
printf '%s passed, %s failed\n' "$passed" "$failed"
[ "$failed" = 0 ]
