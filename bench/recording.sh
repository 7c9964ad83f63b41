#!/bin/sh
# How much recording slows a machine down: hackbench with no recorder, with ours, and with `perf sched record`, in turns,
# so that whatever else happens on the machine happens to all three. Prints for both recorders the ratio to the unrecorded
# run of the same round: the geometric mean and its 95 % interval.
# As root; needs hackbench (package rt-tests) and perf (package linux-perf).
#
#   bench/recording.sh [ROUNDS]
set -eu
rounds=${1:-120}
schedlab=${SCHEDLAB:-target/release/schedlab}
for program in hackbench perf "$schedlab"; do
    command -v "$program" >/dev/null || { echo "recording: there is no $program" >&2; exit 1; }
done

folder=$(mktemp -d)
mounted=
cleanup() {
    [ -z "$mounted" ] || umount /sys/kernel/tracing
    rm -rf "$folder"
}
trap cleanup EXIT INT TERM
if [ ! -e /sys/kernel/tracing/events ]; then
    mount -t tracefs nodev /sys/kernel/tracing
    mounted=yes
fi

# Eighty pairs of threads that talk through pipes: about 140 000 switches a second on two CPUs.
load="hackbench -g 4 -T -p -l 500"
none() { $load; }
ours() { "$schedlab" record -o "$folder/trace.parquet" -- $load; }
theirs() { perf sched record -o "$folder/perf.data" -- $load; }
# The seconds that hackbench itself measured, into a file for each recorder.
measure() {
    "$1" >"$folder/out" 2>"$folder/err"
    sed -n 's/^Time: *//p' "$folder/out" >"$folder/$1"
    rm -f "$folder/trace.parquet" "$folder/perf.data"
}

i=0
while [ "$i" -lt "$rounds" ]; do
    i=$((i + 1))
    # Each comes first, second and third equally often.
    case $((i % 3)) in
    0) order="none ours theirs" ;;
    1) order="ours theirs none" ;;
    2) order="theirs none ours" ;;
    esac
    for recorder in $order; do measure "$recorder"; done
    echo "$(cat "$folder/none") $(cat "$folder/ours") $(cat "$folder/theirs")" | tee -a "$folder/rounds" >&2
done

# The geometric mean of the ratios of a column to the unrecorded run of the same round, and its interval.
ratio() {
    awk -v c="$1" -v name="$2" '
        { x = log($c / $1); sum += x; squares += x * x }
        END {
            mean = sum / NR; error = sqrt((squares / NR - mean * mean) / (NR - 1))
            printf "%s: %.3f times as long (%.3f to %.3f), %d rounds\n", name, exp(mean), exp(mean - 1.96 * error), exp(mean + 1.96 * error), NR
        }' "$folder/rounds"
}
ratio 2 "schedlab record"
ratio 3 "perf sched record"
