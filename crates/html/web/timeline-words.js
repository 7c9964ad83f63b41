// The timeline's words: times, and what is said about a slice. Plain text only; names are untrusted.

(() => {
  "use strict";

  const UNITS = [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]];
  const THIN_SPACE = "\u2009";

  const LEFT = [
    "left for a reason that is not known",
    "left: its slice was over",
    "left: preempted",
    "left: blocked",
    "left: yielded",
    "left: exited",
  ];
  const SINCE = { 1: "its slice was over", 2: "it was preempted", 4: "it yielded" };
  const SOURCES = ["its start", "a timer", "a semaphore", "a pipe", "the network", "a disk", "something not known"];

  /** The largest unit of which a time has at least one. */
  function unitFor(ns) {
    return UNITS.find(([, size]) => ns >= size) ?? UNITS[3];
  }

  /** A length of time, in three or four digits: `1.25 ms`. */
  function length(ns) {
    const [unit, size] = unitFor(ns);
    const value = ns / size;
    const digits = size === 1 ? 0 : value < 10 ? 2 : value < 100 ? 1 : 0;
    return `${Number(value.toFixed(digits))} ${unit}`;
  }

  /** Parts the digits of a fraction in threes, so that they can be counted. */
  function grouped(number) {
    const [whole, fraction] = number.split(".");
    const inThrees = (text) => text.replace(/\B(?=(\d{3})+(?!\d))/g, THIN_SPACE);
    if (!fraction) return inThrees(whole);
    return `${inThrees(whole)}.${fraction.replace(/\d{3}(?=\d)/g, `$&${THIN_SPACE}`)}`;
  }

  /** An instant, told to the step and in the unit of a greater one: `1.234 5 s`. */
  function instant(ns, step, greatest = ns) {
    const [unit, size] = unitFor(greatest);
    const digits = Math.max(0, Math.ceil(Math.log10(size / Math.max(step, 1)) - 1e-9));
    return `${grouped((ns / size).toFixed(digits))} ${unit}`;
  }

  /** The least of 1, 2 and 5 times a power of ten that is not below `least`. */
  function roundStep(least) {
    const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
    const factor = [1, 2, 5, 10].find((factor) => factor * power >= least * (1 - 1e-9));
    return factor * power;
  }

  /** Round instants from `from` to `to`, at most `most` of them, with their words. */
  function ticks(from, to, most) {
    const step = roundStep((to - from) / Math.max(most, 1));
    const found = [];
    for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
      found.push({ at, text: at === 0 ? "0" : instant(at, step, to) });
    }
    return found;
  }

  /** The name of a task's role. */
  function roleOf(data, task) {
    const role = data.tasks[task].role;
    return role === null || role === undefined ? "unknown" : data.roles[role];
  }

  function whyReady(data, slice) {
    const ready = timeline.data.readySince(data, slice);
    if (!ready) return [];
    const waited = data.all.start[slice] - ready.since;
    const waiting = waited > 0 ? `waited ${length(waited)}` : "did not wait";
    const held = timeline.throttled.within(data, data.all.task[slice], ready.since, data.all.start[slice]);
    const throttled = held > 0 ? [`throttled ${length(held)} of that`] : [];
    if (ready.wake < 0) return [`${waiting} after ${SINCE[data.all.reason[ready.before]]}`, ...throttled];
    const waker = data.wakes.waker[ready.wake];
    const source = SOURCES[data.wakes.source[ready.wake]] ?? SOURCES[6];
    const by = waker > 0 ? `${data.tasks[waker - 1].label} (${source})` : source;
    return [`woken at ${instant(ready.since, 1, data.end)} by ${by}`, waiting, ...throttled];
  }

  /**
   * What there is to say about a slice.
   * @returns {{title: string, lines: string[]}}
   */
  function describe(data, slice) {
    const { start, length: lengths, task, reason } = data.all;
    const end = start[slice] + lengths[slice];
    const stillThere = reason[slice] === 0 && end >= data.end;
    const lines = [
      `role ${roleOf(data, task[slice])}, CPU ${timeline.data.cpuOf(data, slice)}`,
      `ran ${length(lengths[slice])} from ${instant(start[slice], 1, data.end)}`,
      stillThere ? "was still there at the end" : LEFT[reason[slice]] ?? LEFT[0],
      ...whyReady(data, slice),
    ];
    return { title: data.tasks[task[slice]].label, lines };
  }

  const timeline = (globalThis.schedlabTimeline ??= {});
  timeline.words = { length, instant, roundStep, ticks, roleOf, describe };
})();
