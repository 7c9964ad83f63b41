// What the timeline's tests share: its files, and timelines packed by hand.

import { readFileSync, readdirSync } from "node:fs";
import vm from "node:vm";

const web = new URL("..", import.meta.url);

/** Runs the files as a page does, and gives what they define. */
export function load() {
  const files = readdirSync(web).filter((name) => /^timeline.*\.js$/.test(name));
  for (const name of files) vm.runInThisContext(readFileSync(new URL(name, web), "utf8"), { filename: name });
  return globalThis.schedlabTimeline;
}

/** Numbers as unsigned LEB128. */
export function leb128(values) {
  return values.flatMap((value) => {
    const bytes = [];
    for (; value > 127; value = Math.floor(value / 128)) bytes.push((value % 128) | 128);
    return [...bytes, value];
  });
}

/**
 * What `schedlab_views::slices` makes of each CPU's slices, [start, end, task, reason], and of wake-ups,
 * [time, waker + 1, woken, source], and of throttled stretches, [start, end, task].
 */
export function pack(cpus, wakes, tasks, roles, end, throttled = []) {
  const column = (rows, value) => rows.map(value);
  const bytes = cpus.flatMap((rows) => [
    ...leb128(column(rows, ([start], i) => start - (i > 0 ? rows[i - 1][1] : 0))),
    ...leb128(column(rows, ([start, finish]) => finish - start)),
    ...leb128(column(rows, ([, , task]) => task)),
    ...leb128(column(rows, ([, , , reason]) => reason)),
  ]);
  bytes.push(...leb128(column(wakes, ([time], i) => time - (i > 0 ? wakes[i - 1][0] : 0))));
  for (const field of [1, 2, 3]) bytes.push(...leb128(column(wakes, (wake) => wake[field])));
  bytes.push(...leb128(column(throttled, ([start], i) => start - (i > 0 ? throttled[i - 1][0] : 0))));
  bytes.push(...leb128(column(throttled, ([start, finish]) => finish - start)));
  bytes.push(...leb128(column(throttled, ([, , task]) => task)));
  const header = {
    cpus: cpus.length, end_ns: end, tasks, roles, wakes: wakes.length, kept_until_ns: null, throttled: throttled.length,
    slices_per_cpu: cpus.map((rows) => rows.length),
  };
  return { header, bytes: Uint8Array.from(bytes) };
}

/** Two CPUs, three tasks: task 0 is cut short and moves, and wakes task 1; task 2 has no known role. */
export function story() {
  const tasks = [{ label: "web/0", role: 0 }, { label: "batch/0", role: 1 }, { label: "task9", role: null }];
  const first = [[10, 1000, 0, 2], [1000, 1000, 2, 4], [1000, 5_000_000, 1, 0]];
  const second = [[1500, 2000, 0, 3], [3000, 3400, 0, 5]];
  const wakes = [[0, 0, 0, 1], [700, 1, 1, 3], [2900, 2, 0, 2]];
  return pack([first, second], wakes, tasks, ["web", "batch"], 5_000_000);
}
