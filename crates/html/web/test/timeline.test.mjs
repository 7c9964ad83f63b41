// Run with `node --test crates/html/web/test/`.

import assert from "node:assert/strict";
import { test } from "node:test";
import { leb128, load, pack, story } from "./helpers.mjs";

const timeline = load();

function decoded({ header, bytes }) {
  return timeline.decode(header, bytes);
}

test("bytes written by hand are slices and wake-ups", () => {
  // One CPU: from 300 for 1, from 2^40 for 200; a wake-up at 600.
  const gap = [0xac, 0x02, ...leb128([2 ** 40 - 301])];
  const bytes = [...gap, 1, 0xc8, 0x01, 0, 1, 3, 0, 0xd8, 0x04, 1, 0, 3];
  const header = {
    cpus: 1, end_ns: 2 ** 41, tasks: [{ label: "a/0", role: 0 }, { label: "a/1", role: 0 }], roles: ["a"],
    slices_per_cpu: [2], wakes: 1, kept_until_ns: 2 ** 41 - 5,
  };
  const data = timeline.decode(header, Uint8Array.from(bytes));
  const [lane] = data.lanes;
  assert.deepEqual([[...lane.start], [...lane.length]], [[300, 2 ** 40], [1, 200]]);
  assert.deepEqual([[...lane.task], [...lane.reason]], [[0, 1], [3, 0]]);
  const { time, waker, woken, source } = data.wakes;
  assert.deepEqual([[...time], [...waker], [...woken], [...source]], [[600], [1], [0], [3]]);
  assert.deepEqual([data.end, data.runEnd], [2 ** 41 - 5, 2 ** 41]);
  assert.throws(() => timeline.decode(header, Uint8Array.from(bytes.slice(0, -1))), /end too early/);
});

test("slices are found by CPU, by task and by time", () => {
  const data = decoded(story());
  const { cpuOf, sliceAt, firstVisible, slicesByTime, byTask, firstSliceFrom, sliceOf } = timeline.data;
  assert.deepEqual([0, 2, 3, 4].map((slice) => cpuOf(data, slice)), [0, 0, 1, 1]);
  assert.deepEqual([5, 10, 999, 1000].map((at) => sliceAt(data.lanes[0], at)), [-1, 0, 0, 2]);
  assert.deepEqual([0, 1999, 2000, 4000].map((at) => firstVisible(data.lanes[1], at)), [0, 0, 1, 2]);
  assert.deepEqual([...slicesByTime(data)], [0, 1, 2, 3, 4]);
  assert.deepEqual([...byTask(data).slice], [0, 3, 4, 2, 1]);
  assert.deepEqual([0, 10, 11, 3001].map((at) => firstSliceFrom(data, 0, at)), [0, 0, 3, -1]);
  assert.deepEqual([700, 1200, 2000, 2100].map((at) => sliceOf(data, 0, at)), [0, -1, 3, -1]);
});

test("the merged order is that of a sort, whatever the CPUs", () => {
  let state = 7;
  const below = (bound) => (state = (state * 48271) % 2147483647) % bound;
  for (let round = 0; round < 30; round += 1) {
    const cpus = Array.from({ length: 1 + below(9) }, () => {
      let at = 0;
      return Array.from({ length: below(40) }, () => {
        const start = at + below(5);
        at = start + below(9);
        return [start, at, below(3), 1];
      });
    });
    const tasks = ["a", "b", "c"].map((label) => ({ label, role: null }));
    const data = decoded(pack(cpus, [], tasks, [], 1000));
    const starts = Array.from(timeline.data.slicesByTime(data), (slice) => data.all.start[slice]);
    assert.deepEqual(starts, [...data.all.start].sort((a, b) => a - b));
    assert.equal(new Set(timeline.data.slicesByTime(data)).size, starts.length);
  }
});

/** The pixels of a lane of 4 rows: for each column the task, or -1, and how high it stands. */
function painted(lane, tasks, end, from, scale, width, first) {
  const style = {
    colours: Uint32Array.from({ length: tasks }, (_, task) => task + 1), end, tally: new timeline.picture.Tally(tasks),
  };
  const pixels = new Uint32Array(width * 4);
  timeline.picture.paintLane(lane, { from, scale, first }, { top: 0, height: 4 }, { pixels, width }, style);
  return Array.from({ length: width }, (_, x) => {
    const column = [0, 1, 2, 3].map((y) => pixels[y * width + x]);
    return [column[3] - 1, column.filter((pixel) => pixel > 0).length];
  });
}

test("a column of pixels goes to the task that had most of it, as high as it was busy", () => {
  const rows = [[0, 10, 0, 1], [10, 40, 1, 1], [40, 55, 0, 1], [60, 70, 2, 1], [100, 150, 2, 1], [300, 1000, 1, 1]];
  const { lanes } = decoded(pack([rows], [], ["a", "b", "c"].map((label) => ({ label, role: 0 })), ["g"], 1000));
  const columns = painted(lanes[0], 3, 1000, 0, 100, 10);
  assert.deepEqual(columns.slice(0, 3), [[1, 3], [2, 2], [-1, 0]]);
  // The last pixel of a slice parts it from the next.
  assert.deepEqual(columns.slice(3), [...Array(6).fill([1, 4]), [-1, 0]]);
  // Closer, slices are themselves: 10 idle pixels are seen where the CPU was idle.
  const close = painted(lanes[0], 3, 1000, 0, 1, 70).map(([task]) => task);
  assert.deepEqual([close[5], close[20], close[50], close[57], close[65]], [0, 1, 0, -1, 2]);
});

test("of very many slices, a summary knows the dominant task and the busy time", () => {
  // In every 1000 ns task 0 has one slice of 500, and 50 others have 8 each: 900 are busy.
  const rows = [];
  for (let round = 0; round < 400; round += 1) {
    const start = round * 1000;
    rows.push([start, start + 500, 0, 1]);
    for (let i = 0; i < 50; i += 1) rows.push([start + 500 + i * 8, start + 508 + i * 8, 1 + i, 1]);
  }
  const tasks = Array.from({ length: 51 }, (_, i) => ({ label: `t/${i}`, role: 0 }));
  const { lanes } = decoded(pack([rows], [], tasks, ["t"], 400_000));
  for (const width of [3, 10, 37, 100]) {
    const columns = painted(lanes[0], 51, 400_000, 0, 400_000 / width, width);
    assert.deepEqual(columns, Array(width).fill([0, 4]), `${width} columns`);
  }
  const { aggregate, Tally } = timeline.picture;
  const busy = aggregate(lanes[0], 0, rows.length, 0, 400_000, 400_000, new Tally(51));
  assert.equal(busy, 400 * 900);
});

test("columns that are kept show the same as new ones, wherever the picture moves", () => {
  let state = 11;
  const below = (bound) => (state = (state * 48271) % 2147483647) % bound;
  const rows = [];
  for (let at = 0; rows.length < 3000; at = rows.at(-1)[1]) {
    const start = at + (below(3) === 0 ? below(50) : 0);
    rows.push([start, start + below(below(20) === 0 ? 900 : 30), below(5), 1]);
  }
  const tasks = Array.from({ length: 5 }, (_, i) => ({ label: `t/${i}`, role: 0 }));
  const packed = pack([rows], [], tasks, ["t"], rows.at(-1)[1]);
  const [kept, fresh] = [decoded(packed), decoded(packed)];
  for (const [first, scale] of [[0, 64], [40, 64], [20, 64], [25, 32], [60, 32], [40, 64], [3, 512]]) {
    const moved = painted(kept.lanes[0], 5, kept.end, first * scale, scale, 80, first);
    assert.deepEqual(moved, painted(fresh.lanes[0], 5, fresh.end, first * scale, scale, 80), `${first} at ${scale}`);
  }
});

test("a slice gives its task, CPU and length, why it left and why it waited", () => {
  const data = decoded(story());
  const say = (slice) => timeline.words.describe(data, slice);
  assert.deepEqual(say(0), {
    title: "web/0",
    lines: ["role web, CPU 0", "ran 990 ns from 0.000010 ms", "left: preempted", "woken at 0.000000 ms by a timer",
      "waited 10 ns"].map((line) => line.replace(/(\.\d{3})(\d{3}) /, "$1\u2009$2 ")),
  });
  assert.deepEqual(say(3).lines.slice(2), ["left: blocked", "waited 500 ns after it was preempted"]);
  const ofNobody = ["role unknown, CPU 0", "ran 0 ns from 0.001\u2009000 ms", "left: yielded"];
  assert.deepEqual(say(1).lines.slice(0, 3), ofNobody);
  assert.equal(say(2).lines[2], "was still there at the end");
  assert.match(say(2).lines[3], /by web\/0 \(a pipe\)$/);
  assert.deepEqual(say(4).lines.slice(2), ["left: exited", "woken at 0.002\u2009900 ms by batch/0 (a semaphore)",
    "waited 100 ns"]);
});

test("times have units, and steps are round", () => {
  const { length, instant, ticks } = timeline.words;
  assert.deepEqual([0, 999, 1250, 12_340, 5e9].map(length), ["0 ns", "999 ns", "1.25 µs", "12.3 µs", "5 s"]);
  assert.equal(instant(1_234_567_890, 10), "1.234\u2009567\u200989 s");
  assert.equal(instant(0, 1e8, 2e9), "0.0 s");
  assert.deepEqual(ticks(0, 2e9, 5).map(({ text }) => text), ["0", "0.5 s", "1.0 s", "1.5 s", "2.0 s"]);
  assert.deepEqual(ticks(1_000_100, 1_000_900, 3).map(({ at }) => at), [1_000_500]);
});

test("arrows lead from the waker's slice to the slice that follows, and are not drawn when they are many", () => {
  const data = decoded(story());
  const { ends, visible, wakesOf } = timeline.arrows;
  assert.deepEqual(ends(data, 0), { at: 0, from: -1, to: 0, start: 10 });
  assert.deepEqual(ends(data, 1), { at: 700, from: 0, to: 2, start: 1000 });
  assert.deepEqual(ends(data, 2), { at: 2900, from: 2, to: 4, start: 3000 });
  assert.deepEqual(visible(data, 600, 800, null), [1]);
  assert.deepEqual([0, 1, 2].map((task) => wakesOf(data, task)), [[0, 1, 2], [1, 2], []]);
  const many = Array.from({ length: 1000 }, (_, i) => [i, 0, 0, 1]);
  const crowd = decoded(pack([[[0, 2000, 0, 0]]], many, [{ label: "a/0", role: null }], [], 2000));
  assert.deepEqual(visible(crowd, 0, 2000, null), []);
  assert.equal(visible(crowd, 500, 510, null).length, 20);
});

/** Two web tasks on one CPU: both are throttled at 100, and one of them at 900 again. */
function limited() {
  const tasks = [{ label: "web/0", role: 0 }, { label: "web/1", role: 0 }];
  const rows = [[0, 100, 0, 2], [500, 700, 0, 3], [700, 900, 1, 2]];
  const throttled = [[100, 500, 0], [100, 600, 1], [900, 1000, 1]];
  return decoded(pack([rows], [[0, 0, 0, 1], [100, 0, 1, 1]], tasks, ["web"], 1000, throttled));
}

test("throttled stretches are rows of roles and of tasks, and say how long", () => {
  const data = limited();
  const { rows, byTask, within, describe } = timeline.throttled;
  const [row, ...others] = rows(data);
  assert.deepEqual([row.name, [...row.lane.start], [...row.lane.length]], ["web: throttled", [100, 900], [500, 100]]);
  assert.equal(others.length, 0);
  assert.deepEqual([...byTask(data).get(1).length], [500, 100]);
  assert.deepEqual([within(data, 0, 0, 1000), within(data, 1, 400, 950), within(data, 0, 600, 700)], [400, 250, 0]);
  assert.deepEqual(describe(data, row, 0).lines, ["throttled 500 ns from 0.100 µs", "2 tasks, not all of them all the time"]);
  assert.deepEqual(describe(data, row, 1).lines[1], "one task");
  assert.equal(describe(data, { name: "web/1", task: 1 }, 1).title, "web/1");
  assert.deepEqual(timeline.words.describe(data, 1).lines.at(-1), "throttled 400 ns of that");
  assert.deepEqual(rows(decoded(story())), []);
});

/** Reads a protobuf message: pairs of a field and a number or bytes. */
function message(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let at = 0;
  const varint = () => {
    let [value, scale] = [0, 1];
    for (; bytes[at] > 127; at += 1, scale *= 128) value += (bytes[at] & 127) * scale;
    return value + bytes[at++] * scale;
  };
  const fields = [];
  while (at < bytes.length) {
    const key = varint();
    const [field, wire] = [key >> 3, key & 7];
    if (wire === 0) {
      fields.push([field, varint()]);
      continue;
    }
    const length = wire === 1 ? 8 : varint();
    at += length;
    const value = wire === 1 ? Number(view.getBigUint64(at - 8, true)) : bytes.subarray(at - length, at);
    fields.push([field, value]);
  }
  return fields;
}

/** The first value of a field. */
function field(fields, number) {
  return fields.find(([name]) => name === number)?.[1];
}

function packetsOf(data) {
  return message(timeline.perfetto(data)).map(([name, bytes]) => {
    assert.equal(name, 1);
    return message(bytes);
  });
}

const text = (bytes) => new TextDecoder().decode(bytes);
const track = (kind, number) => kind * 2 ** 40 + number;

/** The slices of each track as [begin, end, name]. */
function slicesOf(packets) {
  const names = new Map();
  const slices = new Map();
  for (const packet of packets) {
    const interned = field(packet, 12);
    for (const [name, entry] of interned ? message(interned) : []) {
      assert.equal(name, 2);
      names.set(field(message(entry), 1), text(field(message(entry), 2)));
    }
    const event = field(packet, 11) && message(field(packet, 11));
    if (!event) continue;
    const of = field(event, 11);
    if (!slices.has(of)) slices.set(of, []);
    if (field(event, 9) === 1) slices.get(of).push([field(packet, 8), null, names.get(field(event, 10))]);
    if (field(event, 9) === 2) slices.get(of).at(-1)[1] = field(packet, 8);
  }
  return slices;
}

test("a Perfetto trace has the slices of CPUs and tasks on tracks with names", () => {
  const packets = packetsOf(decoded(story()));
  assert.ok(packets.every((packet) => field(packet, 10) === 1));
  const slices = slicesOf(packets);
  const first = [[10, 1000, "web/0"], [1000, 1000, "task9"], [1000, 5_000_000, "batch/0"]];
  assert.deepEqual(slices.get(track(2, 0)), first);
  assert.deepEqual(slices.get(track(4, 0)), [[10, 1000, "CPU 0"], [1500, 2000, "CPU 1"], [3000, 3400, "CPU 1"]]);
  const descriptors = packets.map((packet) => field(packet, 60)).filter(Boolean).map(message);
  const threads = descriptors.filter((d) => field(d, 4)).map((d) => message(field(d, 4)));
  const names = threads.map((thread) => [field(thread, 1), text(field(thread, 5))]);
  assert.deepEqual(names, [[1, "web/0"], [2, "batch/0"], [999_999, "task9"]]);
  const declared = new Set(descriptors.map((d) => field(d, 1)));
  assert.ok([...slices.keys()].every((of) => declared.has(of)));
  assert.ok(descriptors.every((d) => field(d, 5) === undefined || declared.has(field(d, 5))));
});

test("a Perfetto trace has a track of throttled stretches below each such task", () => {
  const slices = slicesOf(packetsOf(limited()));
  assert.deepEqual(slices.get(track(5, 1)), [[100, 600, "throttled"], [900, 1000, "throttled"]]);
  assert.deepEqual(slices.get(track(5, 0)), [[100, 500, "throttled"]]);
});

test("arrows of a Perfetto trace begin at the waker and end at the woken", () => {
  const drawn = packetsOf(decoded(story())).filter((packet) => field(packet, 11));
  const events = drawn.map((packet) => ({ time: field(packet, 8), event: message(field(packet, 11)) }));
  const flows = (number) =>
    events.flatMap(({ time, event }) =>
      event.filter(([name]) => name === number).map(([, id]) => [id, time, field(event, 11)]),
    );
  assert.deepEqual(flows(47).sort(), [[2, 700, track(4, 0)], [3, 2900, track(4, 1)]]);
  assert.deepEqual(flows(48).sort(), [[2, 1000, track(4, 1)], [3, 3000, track(4, 0)]]);
});
