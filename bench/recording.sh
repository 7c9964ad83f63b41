#!/bin/sh
# How much recording slows a machine down: hackbench with no recorder, with ours, and with `perf sched record`, in turns,
# so that whatever else happens on the machine happens to all three. Prints for both recorders the median ratio to the
# unrecorded run of the same round, and the interval of that median by order statistics (at least 95 % for 15 rounds).
# As root; needs hackbench (package rt-tests) and perf (package linux-perf).
#
#   bench/recording.sh [ROUNDS]
set -eu
rounds=${1:-15}
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

load="hackbench -g 2 -l 3000"
# The seconds that hackbench itself measured.
seconds() { sed -n 's/^Time: *//p' "$folder/out"; }

i=0
while [ "$i" -lt "$rounds" ]; do
    i=$((i + 1))
    $load >"$folder/out"
    none=$(seconds)
    "$schedlab" record -o "$folder/trace.parquet" -- $load >"$folder/out" 2>"$folder/err"
    ours=$(seconds)
    perf sched record -o "$folder/perf.data" -- $load >"$folder/out" 2>"$folder/err"
    theirs=$(seconds)
    rm -f "$folder/trace.parquet" "$folder/perf.data"
    echo "$none $ours $theirs" | tee -a "$folder/rounds" >&2
done

# ratio COLUMN NAME: sorted ratios; for n values the ranks n/2 -+ sqrt(n) hold the median with about 95 %.
ratio() {
    awk -v c="$1" '{ print $c / $1 }' "$folder/rounds" | sort -n | awk -v name="$2" '
        { r[NR] = $1 }
        END {
            low = int((NR + 1) / 2 - sqrt(NR)); high = NR + 1 - low
            if (low < 1) { low = 1; high = NR }
            printf "%s: %.3f times as long (%.3f to %.3f), %d rounds\n", name, r[int((NR + 1) / 2)], r[low], r[high], NR
        }'
}
ratio 2 "schedlab record"
ratio 3 "perf sched record"
