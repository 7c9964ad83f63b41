// The tasks at one instant: on a CPU, waiting for one, or blocked. Each is a square that glides to its place.

(() => {
  "use strict";

  const SIZE = 22;
  const GAP = 4;
  const PAD = 8;
  const LINE = SIZE + GAP;
  /** With more tasks than this there are numbers and no squares. */
  const MOST_TASKS = 400;
  /** How much of its way a square goes in a frame of 60 a second. */
  const GLIDE = 0.25;
  const FONT = "12px system-ui, sans-serif";

  /** A slice's end after which its task still can run: its slice was over, it was preempted, it yielded. */
  const CUT_SHORT = [1, 2, 4];
  const BLOCKED = 3;

  /**
   * What each task does at an instant.
   * @returns {{running: (number | null)[], waiting: number[], blocked: number[]}} by CPU, and lists of tasks
   */
  function stateAt(data, time) {
    const { byTask, sliceAt, lastWake, lowerBound } = schedlabTimeline.data;
    const running = data.lanes.map((lane) => {
      const slice = sliceAt(lane, time);
      const isThere = slice >= 0 && lane.start[slice] + lane.length[slice] > time;
      return isThere ? lane.task[slice] : null;
    });
    const onCpu = new Set(running);
    const [waiting, blocked] = [[], []];
    const { lanes } = byTask(data);
    for (let task = 0; task < data.tasks.length; task += 1) {
      if (onCpu.has(task)) continue;
      const lane = lanes[task];
      const last = lowerBound(lane.start, time + 1) - 1;
      // One that has not come yet is nowhere, and so is one that has left.
      if (last < 0) {
        if (lastWake(data, task, 0, time) >= 0) waiting.push(task);
      } else if (CUT_SHORT.includes(lane.reason[last]) || isWoken(data, task, lane, last, time)) waiting.push(task);
      else if (lane.reason[last] === BLOCKED) blocked.push(task);
    }
    return { running, waiting, blocked };
  }

  /** Whether a task that blocked has been woken since. A wake-up in the instant in which it blocked may be of before. */
  function isWoken(data, task, lane, last, time) {
    const { lastWake } = schedlabTimeline.data;
    const since = lane.start[last] + lane.length[last];
    if (lastWake(data, task, since + 1, time) >= 0) return true;
    const next = lane.start[last + 1] ?? data.end;
    return lastWake(data, task, since, time) >= 0 && lane.length[last] > 0 && lastWake(data, task, since + 1, next) < 0;
  }

  /** The picture of it. `timeline` has data and colours. */
  class Stage {
    constructor(canvas) {
      this.canvas = canvas;
      this.context = canvas.getContext("2d");
      this.places = new Map();
    }

    /** Shows the tasks of this timeline from now on. */
    show(timeline) {
      this.timeline = timeline;
      this.places.clear();
      this.layout();
    }

    /** Columns of CPUs beside a heap of those that wait, and one of those that are blocked. */
    layout() {
      const { data } = this.timeline;
      const [width, ratio] = [this.canvas.parentElement.clientWidth, globalThis.devicePixelRatio || 1];
      this.cpuWidth = data.cpus <= 8 ? Math.min(120, (width - PAD) / data.cpus - GAP) : SIZE;
      this.cpuColumns = Math.max(1, Math.min(data.cpus, Math.floor((width - PAD) / (this.cpuWidth + GAP))));
      const rows = Math.ceil(data.cpus / this.cpuColumns);
      this.heapColumns = Math.max(1, Math.floor((width / 2 - 2 * PAD) / LINE));
      this.heapRows = data.tasks.length > MOST_TASKS ? 0 : Math.min(Math.ceil(data.tasks.length / this.heapColumns), 6);
      this.heapTop = 20 + rows * LINE + 28;
      this.width = width;
      this.height = this.heapTop + this.heapRows * LINE + PAD;
      Object.assign(this.canvas, { width: Math.round(width * ratio), height: Math.round(this.height * ratio) });
      Object.assign(this.canvas.style, { width: `${width}px`, height: `${this.height}px` });
      this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    }

    /** Where a task is to be. */
    targets({ running, waiting, blocked }) {
      const to = new Map();
      running.forEach((task, cpu) => task !== null && to.set(task, this.cpuPlace(cpu)));
      const heap = (tasks, left) => tasks.slice(0, this.heapColumns * this.heapRows).forEach((task, i) => {
        const [column, row] = [i % this.heapColumns, Math.floor(i / this.heapColumns)];
        to.set(task, { x: left + column * LINE, y: this.heapTop + row * LINE, width: SIZE });
      });
      heap(waiting, PAD);
      heap(blocked, this.width / 2 + PAD);
      return to;
    }

    cpuPlace(cpu) {
      const [column, row] = [cpu % this.cpuColumns, Math.floor(cpu / this.cpuColumns)];
      return { x: PAD + column * (this.cpuWidth + GAP), y: 20 + row * LINE, width: this.cpuWidth };
    }

    /** Draws an instant; says whether squares are still on their way. */
    draw(time, isStill) {
      const { context: c, timeline } = this;
      const { theme, data } = timeline;
      const state = stateAt(data, time);
      c.clearRect(0, 0, this.width, this.height);
      c.font = FONT;
      c.textBaseline = "middle";
      c.textAlign = "left";
      c.fillStyle = theme.muted;
      c.fillText(data.cpus === 1 ? "On the CPU" : `On ${data.cpus} CPUs`, PAD, 9);
      c.fillText(`Waiting for a CPU: ${state.waiting.length}`, PAD, this.heapTop - 12);
      c.fillText(`Blocked or asleep: ${state.blocked.length}`, this.width / 2 + PAD, this.heapTop - 12);
      c.fillStyle = theme.grid;
      for (let cpu = 0; cpu < data.cpus; cpu += 1) {
        const { x, y, width } = this.cpuPlace(cpu);
        c.fillRect(x, y, width, SIZE);
      }
      const isMoving = data.tasks.length <= MOST_TASKS || this.heapRows === 0 ? this.drawTasks(state, isStill) : false;
      this.describe(state);
      return isMoving;
    }

    drawTasks(state, isStill) {
      let isMoving = false;
      const targets = this.targets(state);
      for (const task of this.places.keys()) if (!targets.has(task)) this.places.delete(task);
      for (const [task, to] of targets) {
        const at = this.places.get(task) ?? { ...to };
        for (const key of ["x", "y", "width"]) {
          const way = to[key] - at[key];
          at[key] = isStill || Math.abs(way) < 0.5 ? to[key] : at[key] + way * GLIDE;
          isMoving ||= at[key] !== to[key];
        }
        this.places.set(task, at);
        this.drawTask(task, at);
      }
      return isMoving;
    }

    drawTask(task, { x, y, width }) {
      const { context: c, timeline: { theme, data } } = this;
      const pixel = theme.bright[task];
      c.fillStyle = `rgb(${pixel & 255} ${(pixel >> 8) & 255} ${(pixel >> 16) & 255})`;
      c.fillRect(x, y, width, SIZE);
      c.fillStyle = theme.ink[task];
      const { label } = data.tasks[task];
      const short = label.split("/").at(-1);
      const text = width > 60 ? label : short;
      if (c.measureText(text).width < width - 3) c.fillText(text, x + (width > 60 ? 6 : (width - c.measureText(text).width) / 2), y + SIZE / 2 + 1);
    }

    /** The same in words, on demand: for screen readers and tests. */
    describe({ running, waiting, blocked }) {
      const name = (task) => (task === null ? "nothing" : this.timeline.data.tasks[task].label);
      const cpus = running.slice(0, 16).map((task, cpu) => `CPU ${cpu}: ${name(task)}`);
      const label = `${cpus.join(", ")}; ${waiting.length} waiting, ${blocked.length} blocked`;
      if (label !== this.label) this.canvas.setAttribute("aria-label", (this.label = label));
    }
  }

  globalThis.schedlabPlayground ??= {};
  Object.assign(schedlabPlayground, { Stage, stateAt });
})();
