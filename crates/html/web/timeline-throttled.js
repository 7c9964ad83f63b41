// When tasks were throttled: what a timeline shows of limits.

(() => {
  "use strict";

  /** Stretches at some places of all, as a lane of slices; those that touch or overlap are one when `joins` says so. */
  function laneOf(data, places, joins) {
    const { start, length, task } = data.throttled;
    const found = [];
    for (const place of places) {
      const last = found.at(-1);
      const until = start[place] + length[place];
      if (joins && last && start[place] <= last.until) last.until = Math.max(last.until, until);
      else found.push({ from: start[place], until, task: task[place] });
    }
    return {
      start: Float64Array.from(found, ({ from }) => from),
      length: Float64Array.from(found, ({ from, until }) => until - from),
      task: Uint32Array.from(found, ({ task }) => task),
      reason: new Uint8Array(found.length),
    };
  }

  /** The lanes of the tasks that ever were, by task; made when first asked for. */
  function byTask(data) {
    if (data.throttledByTask) return data.throttledByTask;
    const places = new Map();
    data.throttled.task.forEach((task, place) => {
      if (!places.has(task)) places.set(task, []);
      places.get(task).push(place);
    });
    data.throttledByTask = new Map([...places].map(([task, all]) => [task, laneOf(data, all, false)]));
    return data.throttledByTask;
  }

  /** A row for each role with tasks that were throttled: when at least one of them was. */
  function rows(data) {
    const places = new Map();
    data.throttled.task.forEach((task, place) => {
      const role = data.tasks[task].role ?? data.roles.length;
      if (!places.has(role)) places.set(role, []);
      places.get(role).push(place);
    });
    const ordered = [...places].sort(([a], [b]) => a - b);
    return ordered.map(([role, all]) => {
      const lane = laneOf(data, all, true);
      return { lane, name: `${data.roles[role] ?? "unknown"}: throttled`, task: null, throttled: role };
    });
  }

  /** How much of a time a task was throttled, in ns. */
  function within(data, task, from, until) {
    const lane = byTask(data).get(task);
    if (!lane) return 0;
    let sum = 0;
    for (let i = timeline.data.firstVisible(lane, from); i < lane.start.length && lane.start[i] < until; i += 1) {
      sum += Math.max(Math.min(lane.start[i] + lane.length[i], until) - Math.max(lane.start[i], from), 0);
    }
    return sum;
  }

  /** What there is to say about a stretch of a row: of one task, or of all of a role. */
  function describe(data, row, i) {
    const { length, instant } = timeline.words;
    const lane = row.throttled === undefined ? byTask(data).get(row.task) : row.lane;
    const [from, until] = [lane.start[i], lane.start[i] + lane.length[i]];
    const lines = [`throttled ${length(lane.length[i])} from ${instant(from, 1, data.end)}`];
    if (row.throttled === undefined) return { title: row.name, lines };
    const tasks = [...byTask(data).keys()].filter((task) => (data.tasks[task].role ?? data.roles.length) === row.throttled);
    const count = tasks.filter((task) => within(data, task, from, until) > 0).length;
    return { title: row.name, lines: [...lines, count === 1 ? "one task" : `${count} tasks, not all of them all the time`] };
  }

  const timeline = (globalThis.schedlabTimeline ??= {});
  timeline.throttled = { byTask, rows, within, describe };
})();
