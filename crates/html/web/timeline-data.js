// The timeline's data: what `schedlab_views::slices` packed, and the questions that a picture of it asks.
// A page holds all timeline*.js, in any order: each adds to `schedlabTimeline`, and none asks for another while it
// loads.

(() => {
  "use strict";

  /**
   * Slices in the order of time: of a CPU, or of a task.
   * @typedef {{
   *   start: Float64Array, length: Float64Array, task: Uint32Array, reason: Uint8Array, summary?: object,
   * }} Lane
   *
   * @typedef {{
   *   cpus: number, end: number, runEnd: number, keptUntil: number | null,
   *   tasks: {label: string, role: number | null}[], roles: string[],
   *   all: Lane, first: Uint32Array, lanes: Lane[],
   *   wakes: {time: Float64Array, waker: Uint32Array, woken: Uint32Array, source: Uint8Array},
   *   throttled: {start: Float64Array, length: Float64Array, task: Uint32Array},
   * }} Data
   * A slice's number is its place in `all`; those of a CPU begin at `first[cpu]`. Times are in ns; `end` is the end of
   * what is known. A waker is 0 or 1 more than a task.
   */

  /** Reads unsigned LEB128 numbers, a column at a time. */
  class Columns {
    constructor(bytes) {
      this.bytes = bytes;
      this.at = 0;
    }

    /** Fills `column` with as many numbers as it has room for. */
    read(column) {
      const bytes = this.bytes;
      let at = this.at;
      for (let i = 0; i < column.length; i += 1) {
        let byte = bytes[at++];
        let value = byte & 127;
        for (let scale = 128; byte > 127; scale *= 128) {
          byte = bytes[at++];
          value += (byte & 127) * scale;
        }
        column[i] = value;
      }
      if (at > bytes.length) throw new RangeError("the bytes of the timeline end too early");
      this.at = at;
      return column;
    }
  }

  /** Turns gaps and lengths into starts, in place. */
  function startsFromGaps(gap, length) {
    let end = 0;
    for (let i = 0; i < gap.length; i += 1) {
      gap[i] += end;
      end = gap[i] + length[i];
    }
  }

  /** Turns differences into values, in place. */
  function sumUp(deltas) {
    for (let i = 1; i < deltas.length; i += 1) deltas[i] += deltas[i - 1];
  }

  function part(all, from, to) {
    const { start, length, task, reason } = all;
    return {
      start: start.subarray(from, to),
      length: length.subarray(from, to),
      task: task.subarray(from, to),
      reason: reason.subarray(from, to),
    };
  }

  function emptyLane(count) {
    return {
      start: new Float64Array(count),
      length: new Float64Array(count),
      task: new Uint32Array(count),
      reason: new Uint8Array(count),
    };
  }

  /** The slices at some places of a lane. */
  function pick(lane, places) {
    const picked = emptyLane(places.length);
    for (const [name, column] of Object.entries(picked)) {
      const from = lane[name];
      for (let i = 0; i < places.length; i += 1) column[i] = from[places[i]];
    }
    return picked;
  }

  function decodeWakes(columns, count) {
    const wakes = {
      time: columns.read(new Float64Array(count)),
      waker: columns.read(new Uint32Array(count)),
      woken: columns.read(new Uint32Array(count)),
      source: columns.read(new Uint8Array(count)),
    };
    sumUp(wakes.time);
    return wakes;
  }

  /** The stretches in which tasks were throttled. */
  function decodeThrottled(columns, count) {
    const throttled = {
      start: columns.read(new Float64Array(count)),
      length: columns.read(new Float64Array(count)),
      task: columns.read(new Uint32Array(count)),
    };
    sumUp(throttled.start);
    return throttled;
  }

  /** The bytes that a text in base64 stands for. */
  function fromBase64(text) {
    if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
    const characters = atob(text);
    const bytes = new Uint8Array(characters.length);
    for (let i = 0; i < bytes.length; i += 1) bytes[i] = characters.charCodeAt(i);
    return bytes;
  }

  /**
   * Unpacks a timeline.
   * @param header the packed timeline's header, its fields as Rust names them
   * @param {Uint8Array} bytes
   * @returns {Data}
   */
  function decode(header, bytes) {
    const counts = header.slices_per_cpu;
    const first = new Uint32Array(counts.length + 1);
    counts.forEach((count, cpu) => (first[cpu + 1] = first[cpu] + count));
    const all = emptyLane(first[counts.length]);
    const columns = new Columns(bytes);
    const lanes = counts.map((_, cpu) => {
      const lane = part(all, first[cpu], first[cpu + 1]);
      for (const column of [lane.start, lane.length, lane.task, lane.reason]) columns.read(column);
      startsFromGaps(lane.start, lane.length);
      return lane;
    });
    const wakes = decodeWakes(columns, header.wakes);
    const throttled = decodeThrottled(columns, header.throttled ?? 0);
    const keptUntil = header.kept_until_ns ?? null;
    const { cpus, tasks, roles, end_ns: runEnd } = header;
    return { cpus, end: keptUntil ?? runEnd, runEnd, keptUntil, tasks, roles, all, first, lanes, wakes, throttled };
  }

  /** The first place from `low` on, up to `high`, at which `values` is at least `bound`. */
  function lowerBound(values, bound, low = 0, high = values.length) {
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (values[middle] < bound) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The same from a place that is probably near: some steps on foot, then wider and wider ones. */
  function gallop(values, bound, from) {
    let low = from;
    for (const near = Math.min(from + 8, values.length); low < near; low += 1) if (values[low] >= bound) return low;
    if (low === values.length || values[low] >= bound) return low;
    let step = 8;
    while (low + step < values.length && values[low + step] < bound) {
      low += step;
      step *= 2;
    }
    return lowerBound(values, bound, low, Math.min(low + step, values.length));
  }

  /** The first slice that is not over at `time`. Slices of a lane do not overlap. */
  function firstVisible(lane, time) {
    const next = lowerBound(lane.start, time);
    return next > 0 && lane.start[next - 1] + lane.length[next - 1] > time ? next - 1 : next;
  }

  /** The slice of a lane at an instant, of several the last, or -1. */
  function sliceAt(lane, time) {
    let i = firstVisible(lane, time);
    while (lane.start[i + 1] <= time) i += 1;
    return i < lane.start.length && lane.start[i] <= time ? i : -1;
  }

  /** The CPU of a slice. */
  function cpuOf(data, slice) {
    return lowerBound(data.first, slice + 1) - 1;
  }

  /** The numbers of all slices in the order of their starts: the CPUs' orders, merged by a heap of CPUs. */
  function slicesByTime(data) {
    const { first, all } = data;
    const next = Array.from(first.subarray(0, data.lanes.length));
    const heap = next.map((_, cpu) => cpu).filter((cpu) => next[cpu] < first[cpu + 1]);
    const before = (a, b) => all.start[next[a]] < all.start[next[b]];
    const sink = (at) => {
      const cpu = heap[at];
      for (let child = 2 * at + 1; child < heap.length; child = 2 * at + 1) {
        if (child + 1 < heap.length && before(heap[child + 1], heap[child])) child += 1;
        if (!before(heap[child], cpu)) break;
        heap[at] = heap[child];
        at = child;
      }
      heap[at] = cpu;
    };
    for (let at = heap.length >> 1; at >= 0 && heap.length > 0; at -= 1) sink(at);
    const order = new Uint32Array(all.start.length);
    for (let i = 0; i < order.length; i += 1) {
      const cpu = heap[0];
      order[i] = next[cpu];
      next[cpu] += 1;
      if (next[cpu] === first[cpu + 1]) {
        const last = heap.pop();
        if (heap.length > 0) heap[0] = last;
      }
      if (heap.length > 0) sink(0);
    }
    return order;
  }

  /** Sorts `order`, all places of `keyOf`, by their keys, keeping the order of equals; and where each key begins. */
  function groupBy(order, keyOf, keys) {
    const first = new Uint32Array(keys + 1);
    for (const key of keyOf) first[key + 1] += 1;
    for (let key = 0; key < keys; key += 1) first[key + 1] += first[key];
    const next = first.slice();
    const items = new Uint32Array(keyOf.length);
    for (const item of order) items[next[keyOf[item]]++] = item;
    return { items, first };
  }

  /** The slices and wake-ups of each task, made when first asked for. */
  function byTask(data) {
    if (data.taskIndex) return data.taskIndex;
    const tasks = data.tasks.length;
    const { items: slice, first } = groupBy(slicesByTime(data), data.all.task, tasks);
    const sorted = pick(data.all, slice);
    const lanes = Array.from({ length: tasks }, (_, task) => part(sorted, first[task], first[task + 1]));
    const wakes = groupBy(data.wakes.time.keys(), data.wakes.woken, tasks);
    data.taskIndex = { slice, first, lanes, wakes: wakes.items, firstWake: wakes.first };
    return data.taskIndex;
  }

  /** The slices of one task on each CPU, as lanes next to the CPUs' own. */
  function cpuLanesOf(data, task) {
    return data.lanes.map((lane) => {
      const places = [];
      lane.task.forEach((other, i) => other === task && places.push(i));
      return pick(lane, places);
    });
  }

  /** Where a slice stands among those of its task. */
  function placeInTask(data, slice) {
    const index = byTask(data);
    const task = data.all.task[slice];
    const [low, high] = [index.first[task], index.first[task + 1]];
    let place = low + lowerBound(index.lanes[task].start, data.all.start[slice]);
    while (place < high && index.slice[place] !== slice) place += 1;
    return place;
  }

  /** The last wake-up of a task in a time, both ends included, or -1. */
  function lastWake(data, task, from, to) {
    const index = byTask(data);
    let [low, high] = [index.firstWake[task], index.firstWake[task + 1]];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (data.wakes.time[index.wakes[middle]] <= to) low = middle + 1;
      else high = middle;
    }
    const wake = low > index.firstWake[task] ? index.wakes[low - 1] : -1;
    return wake >= 0 && data.wakes.time[wake] >= from ? wake : -1;
  }

  /**
   * Since when a task had been able to run when a slice of it began: a wake-up, or an earlier slice that was cut short.
   * @returns {{since: number, wake: number, before: number} | null} before is the number of the earlier slice; each is
   * -1 when it was the other
   */
  function readySince(data, slice) {
    const index = byTask(data);
    const { start, length, task, reason } = data.all;
    const place = placeInTask(data, slice);
    const before = place > index.first[task[slice]] ? index.slice[place - 1] : -1;
    const ended = before >= 0 ? start[before] + length[before] : 0;
    const wake = lastWake(data, task[slice], ended, start[slice]);
    if (wake >= 0) return { since: data.wakes.time[wake], wake, before: -1 };
    const cutShort = before >= 0 && [1, 2, 4].includes(reason[before]);
    return cutShort ? { since: ended, wake: -1, before } : null;
  }

  /** The number of a task's first slice that begins at an instant or after it, or -1. */
  function firstSliceFrom(data, task, time) {
    const index = byTask(data);
    const place = index.first[task] + lowerBound(index.lanes[task].start, time);
    return place < index.first[task + 1] ? index.slice[place] : -1;
  }

  /** The number of the slice in which a task was at an instant, its end included, or -1. */
  function sliceOf(data, task, time) {
    const index = byTask(data);
    const lane = index.lanes[task];
    let place = lowerBound(lane.start, time);
    if (lane.start[place] !== time) place -= 1;
    return place >= 0 && lane.start[place] + lane.length[place] >= time ? index.slice[index.first[task] + place] : -1;
  }

  const timeline = (globalThis.schedlabTimeline ??= {});
  Object.assign(timeline, { decode, fromBase64 });
  timeline.data = {
    lowerBound, gallop, firstVisible, sliceAt, cpuOf, slicesByTime, byTask, cpuLanesOf, lastWake, readySince,
    firstSliceFrom, sliceOf,
  };
})();
