// The timeline in the page: which task ran where and when, to pan and zoom.

(() => {
  "use strict";

  const AXIS = 24;
  const MOST_HEIGHT = 560;
  /** Heights of lanes. CPUs are to be seen all at once, as far as that goes; tasks may be many more. */
  const LANE = { cpus: 8, tasks: 14, most: 30 };
  /** Names of lanes need that much. */
  const LINE = 14;
  /** No more than these ns fill the width, zoomed in as far as it goes. */
  const LEAST_SPAN = 100;
  const GLIDE_MS = 160;
  /** A slice of that many pixels has room for a name. */
  const NAMED = 34;
  const FONT = "12px system-ui, sans-serif";

  /** The low third of a lane, where a throttled task would run if it might. */
  function lowPart({ top, height }) {
    const low = Math.max(Math.round(height / 3), Math.min(2, height));
    return { top: top + height - low, height: low };
  }

  /** A timeline on a page. Public are `draw`, `panTo`, `range`, `lanes`, `select`, `destroy` and `frameTimes`. */
  class Timeline {
    constructor(element, data, options) {
      this.data = data;
      this.options = options;
      this.end = Math.max(data.end, 1);
      this.from = 0;
      this.span = this.end;
      /** How long each of the last frames took to draw, in ms. */
      this.frameTimes = [];
      this.stop = new AbortController();
      this.page = timeline.page.build(element, data, options, {
        lanes: (kind) => this.lanes(kind),
        zoomIn: () => this.glideAt(null, 1 / 2),
        zoomOut: () => this.glideAt(null, 2),
        whole: () => this.glide(0, this.end),
        save: () => timeline.page.save(options.label ?? "timeline", timeline.perfetto(data)),
      });
      this.context = this.page.canvas.getContext("2d");
      this.tally = new timeline.picture.Tally(data.tasks.length);
      this.selected = null;
      this.readTheme();
      this.lanes("cpus");
      this.listen();
      this.prepare();
    }

    /** Makes what arrows and tasks need, once the page is idle. */
    prepare() {
      const later = globalThis.requestIdleCallback ?? ((act) => setTimeout(act, 300));
      later(() => timeline.data.byTask(this.data));
    }

    listen() {
      const { signal } = this.stop;
      timeline.input.attach(this, this.page.canvas, signal);
      this.page.scroll.addEventListener("scroll", () => this.invalidate(), { signal, passive: true });
      this.watcher = new ResizeObserver(() => this.resize());
      this.watcher.observe(this.page.scroll);
      const retheme = () => (this.readTheme(), this.invalidate());
      matchMedia("(prefers-color-scheme: dark)").addEventListener("change", retheme, { signal });
      this.mutations = new MutationObserver(retheme);
      this.mutations.observe(document.documentElement, { attributeFilter: ["class", "style", "data-theme"] });
    }

    /** Ends it and empties the element. */
    destroy() {
      this.stop.abort();
      this.watcher.disconnect();
      this.mutations.disconnect();
      cancelAnimationFrame(this.pending);
      this.page.root.remove();
    }

    readTheme() {
      this.theme = timeline.page.theme(this.page.probe, this.data, this.options);
      for (const { role, chip } of this.page.chips) chip.style.background = this.theme.roles[role];
    }

    /** Makes lanes of `"cpus"` or of `"tasks"`. */
    lanes(kind) {
      this.kind = kind;
      this.rows = kind === "cpus" ? this.cpuRows() : this.taskRows();
      this.rowOf = kind === "cpus" ? null : new Map(this.rows.map(({ task }, row) => [task, row]));
      this.page.showChoice(kind);
      this.page.scroll.scrollTop = 0;
      this.layout();
    }

    cpuRows() {
      const cpus = this.data.lanes.map((lane, cpu) => ({ lane, name: `CPU ${cpu}`, task: null }));
      return [...cpus, ...timeline.throttled.rows(this.data)];
    }

    /** Tasks that ran, by role and in the order of their coming. */
    taskRows() {
      const { lanes } = timeline.data.byTask(this.data);
      const rows = this.data.tasks.map(({ label, role }, task) => ({ lane: lanes[task], name: label, task, role }));
      const place = (row) => row.role ?? Infinity;
      return rows.filter((row) => row.lane.start.length > 0).sort((a, b) => place(a) - place(b) || a.task - b.task);
    }

    /** Heights, and the width of the names. */
    layout() {
      const count = Math.max(this.rows.length, 1);
      const even = Math.floor((MOST_HEIGHT - AXIS) / count);
      this.laneHeight = Math.min(Math.max(even, LANE[this.kind]), LANE.most);
      this.height = Math.min(count * this.laneHeight + AXIS, MOST_HEIGHT);
      this.page.scroll.style.height = `${this.height}px`;
      this.page.space.style.height = `${count * this.laneHeight + AXIS - this.height}px`;
      this.context.font = FONT;
      const widths = this.rows.slice(0, 500).map(({ name }) => this.context.measureText(name).width);
      this.widest = Math.min(Math.max(0, ...widths) + 12, 130);
      this.width = null;
      this.resize();
    }

    /** Fits the canvas to its place and to the screen's pixels. */
    resize() {
      if (this.isOnPaper) return;
      const width = this.page.scroll.clientWidth;
      const ratio = globalThis.devicePixelRatio || 1;
      if (width === this.width && ratio === this.ratio) return;
      [this.width, this.ratio] = [width, ratio];
      this.gutter = Math.ceil(Math.min(this.widest, width * 0.28));
      const { canvas } = this.page;
      canvas.width = Math.max(1, Math.round(width * ratio));
      canvas.height = Math.max(1, Math.round(this.height * ratio));
      canvas.style.width = `${width}px`;
      canvas.style.height = `${this.height}px`;
      this.invalidate();
    }

    plotWidth() {
      return Math.max(this.width - this.gutter, 1);
    }

    timeAt(x) {
      return this.from + ((x - this.gutter) / this.plotWidth()) * this.span;
    }

    xAt(time) {
      return this.gutter + ((time - this.from) / this.span) * this.plotWidth();
    }

    /** What is seen, in ns: from when, until when. */
    range() {
      return [this.from, this.from + this.span];
    }

    isWhole() {
      return this.span >= this.end;
    }

    /** Shows the time from `start` to `end`, in ns, as far as there is one. */
    panTo(start, end) {
      const span = Math.min(Math.max(end - start, Math.min(LEAST_SPAN, this.end)), this.end);
      // A mere move keeps the scale to the last bit, and with it the columns that were painted.
      if (Math.abs(span - this.span) > this.span * 1e-9) this.span = span;
      this.from = Math.min(Math.max(start, 0), this.end - this.span);
      if (!this.isFollowing) this.options.moved?.(this, this.range());
      this.invalidate();
    }

    /** Shows the time that another timeline was moved to, and tells none of it. */
    follow([start, end]) {
      this.isFollowing = true;
      this.gliding = null;
      this.panTo(start, end);
      this.isFollowing = false;
    }

    /** Draws all of it as paper has it, until `backOnScreen`. */
    onPaper() {
      this.offPaper ??= timeline.print.onPaper(this, AXIS);
    }

    /** Draws again what was on the screen. */
    backOnScreen() {
      this.offPaper?.();
      this.offPaper = null;
    }

    panBy(pixels) {
      this.gliding = null;
      const from = this.from + (pixels / this.plotWidth()) * this.span;
      this.panTo(from, from + this.span);
    }

    /** The range after a zoom by which the instant at `x` stays there; in the middle when `x` is null. */
    zoomed(x, factor) {
      const way = x === null ? 0.5 : Math.min(Math.max((x - this.gutter) / this.plotWidth(), 0), 1);
      const span = Math.min(Math.max(this.span * factor, Math.min(LEAST_SPAN, this.end)), this.end);
      const from = this.from + way * (this.span - span);
      return [from, from + span];
    }

    zoomAt(x, factor) {
      this.gliding = null;
      this.panTo(...this.zoomed(x, factor));
    }

    zoom(factor) {
      this.glideAt(null, factor);
    }

    whole() {
      this.glide(0, this.end);
    }

    glideAt(x, factor) {
      this.glide(...this.zoomed(x, factor));
    }

    /** Moves to a range, without animation for users who prefer reduced motion. */
    glide(start, end) {
      this.gliding = null;
      if (matchMedia("(prefers-reduced-motion: reduce)").matches) return this.panTo(start, end);
      this.gliding = { range: this.range(), to: [start, end], since: performance.now() };
      this.invalidate();
    }

    glideOn(now) {
      const { range, to, since } = this.gliding;
      const way = Math.min(Math.max((now - since) / GLIDE_MS, 0), 1);
      const eased = 1 - (1 - way) ** 3;
      if (way === 1) this.gliding = null;
      this.panTo(...range.map((value, i) => value + (to[i] - value) * eased));
    }

    /** Scrolls the lanes, and says whether there was anything to scroll. */
    scrollLanes(pixels) {
      const before = this.page.scroll.scrollTop;
      this.page.scroll.scrollTop += pixels;
      return this.page.scroll.scrollTop !== before;
    }

    invalidate() {
      this.pending ??= requestAnimationFrame((now) => {
        this.pending = null;
        if (this.gliding) this.glideOn(now);
        this.draw();
      });
    }

    /** Draws now. */
    draw() {
      const begun = performance.now();
      const { context: c, ratio } = this;
      c.setTransform(1, 0, 0, 1, 0, 0);
      c.clearRect(0, 0, c.canvas.width, c.canvas.height);
      const named = this.paintSlices();
      c.setTransform(ratio, 0, 0, ratio, 0, 0);
      c.font = FONT;
      c.textBaseline = "middle";
      this.drawAxis();
      this.drawNames();
      this.drawSliceNames(named);
      this.drawArrows();
      this.tellRange();
      this.frameTimes.push(performance.now() - begun);
      if (this.frameTimes.length > 1000) this.frameTimes.shift();
    }

    /** The lanes that are seen: their numbers, and where each begins, in pixels of the page. */
    visibleRows() {
      const scrolled = this.page.scroll.scrollTop;
      const first = Math.floor(scrolled / this.laneHeight);
      const last = Math.min(Math.ceil((scrolled + this.height - AXIS) / this.laneHeight), this.rows.length);
      return Array.from({ length: last - first }, (_, i) => ({ row: first + i, top: this.topOf(first + i) }));
    }

    topOf(row) {
      return AXIS + row * this.laneHeight - this.page.scroll.scrollTop;
    }

    /** A picture of the screen's pixels, kept as long as its size stays. */
    pictureOf(width, height) {
      if (this.image?.width !== width || this.image?.height !== height) {
        this.image = new ImageData(width, height);
        this.pixels = new Uint32Array(this.image.data.buffer);
      }
      this.pixels.fill(0);
      return { pixels: this.pixels, width };
    }

    /** Paints the lanes, and says which slices have room for a name. */
    paintSlices() {
      const { ratio, theme, tally, end } = this;
      const [left, top] = [Math.round(this.gutter * ratio), Math.round(AXIS * ratio)];
      const width = Math.max(this.context.canvas.width - left, 1);
      const height = Math.max(this.context.canvas.height - top, 1);
      const picture = this.pictureOf(width, height);
      const scale = this.span / width;
      // Columns stay where they are in time, so that the picture does not flicker as it moves.
      const first = Math.round(this.from / scale);
      const view = { scale, first, from: first * scale };
      const named = [];
      for (const { row, top: rowTop } of this.visibleRows()) {
        const band = this.bandOf(rowTop, top, height);
        const { lane, task, throttled } = this.rows[row];
        if (throttled !== undefined) {
          timeline.picture.paintLane(lane, view, band, picture, { colours: theme.throttled, tally, end });
          continue;
        }
        const isFaded = this.selected !== null && this.selected.task !== task;
        const style = { colours: isFaded ? theme.faded : theme.bright, tally, end };
        const note = (i, x0, x1) => x1 - x0 >= NAMED * ratio && named.push({ lane, i, x0, x1, rowTop, isFaded });
        timeline.picture.paintLane(lane, view, band, picture, style, note);
        const held = task !== null && timeline.throttled.byTask(this.data).get(task);
        if (held) timeline.picture.paintLane(held, view, lowPart(band), picture, { ...style, colours: theme.throttled });
        const own = task === null && this.selected?.lanes[row];
        const noteOwn = (i, x0, x1) => x1 - x0 >= NAMED * ratio && named.push({ lane: own, i, x0, x1, rowTop });
        if (own) timeline.picture.paintLane(own, view, band, picture, { ...style, colours: theme.bright }, noteOwn);
      }
      this.context.putImageData(this.image, left, top);
      return named;
    }

    /** The pixels' rows of a lane, a little apart from its neighbours. */
    bandOf(rowTop, plotTop, height) {
      const top = Math.round((rowTop + 1) * this.ratio) - plotTop;
      const bottom = Math.round((rowTop + this.laneHeight - 1) * this.ratio) - plotTop;
      const from = Math.min(Math.max(top, 0), height);
      return { top: from, height: Math.max(Math.min(bottom, height) - from, 0) };
    }

    drawAxis() {
      const { context: c, theme } = this;
      const [from, to] = this.range();
      const room = c.measureText(timeline.words.instant(to, this.span / 10, to)).width + 28;
      c.fillStyle = theme.muted;
      c.textAlign = "center";
      for (const { at, text } of timeline.words.ticks(from, to, Math.floor(this.plotWidth() / room))) {
        const x = this.xAt(at);
        const half = c.measureText(text).width / 2;
        const fits = x - half >= 0 && x + half <= this.width;
        if (fits) c.fillText(text, x, AXIS / 2 - 2);
        this.drawTick(x);
      }
      c.fillStyle = theme.grid;
      c.fillRect(this.gutter, AXIS - 1, this.plotWidth(), 1);
    }

    /** A line beneath the slices. */
    drawTick(x) {
      const c = this.context;
      c.save();
      c.globalCompositeOperation = "destination-over";
      c.fillStyle = this.theme.grid;
      c.fillRect(Math.round(x), AXIS - 5, 1, this.height - AXIS + 5);
      c.restore();
    }

    drawNames() {
      const { context: c, theme } = this;
      c.textAlign = "right";
      const every = Math.ceil(LINE / this.laneHeight);
      for (const { row, top } of this.visibleRows()) {
        const middle = top + this.laneHeight / 2;
        if (middle < AXIS + 4 || row % every > 0) continue;
        const { name, task } = this.rows[row];
        c.fillStyle = task !== null && task === this.selected?.task ? theme.fg : theme.muted;
        c.fillText(this.cut(name, this.gutter - 8), this.gutter - 6, middle);
      }
    }

    /** As much of a text as has room. */
    cut(text, room) {
      if (this.context.measureText(text).width <= room) return text;
      let [fits, not] = [0, text.length];
      while (not - fits > 1) {
        const middle = (fits + not) >>> 1;
        if (this.context.measureText(`${text.slice(0, middle)}…`).width <= room) fits = middle;
        else not = middle;
      }
      return fits > 0 ? `${text.slice(0, fits)}…` : "";
    }

    drawSliceNames(named) {
      const { context: c, theme, ratio } = this;
      c.textAlign = "left";
      for (const { lane, i, x0, x1, rowTop, isFaded } of named) {
        const middle = rowTop + this.laneHeight / 2;
        if (this.kind !== "cpus" || this.laneHeight < LINE || isFaded || middle < AXIS + 4) continue;
        const task = lane.task[i];
        c.fillStyle = theme.ink[task];
        c.fillText(this.cut(this.data.tasks[task].label, (x1 - x0) / ratio - 8), this.gutter + x0 / ratio + 4, middle);
      }
    }

    rowOfSlice(slice) {
      if (this.kind === "cpus") return timeline.data.cpuOf(this.data, slice);
      return this.rowOf.get(this.data.all.task[slice]);
    }

    drawArrows() {
      const { context: c, theme, data } = this;
      const wakes = timeline.arrows.visible(data, ...this.range(), this.selected?.wakes ?? null);
      // Low in the lanes, beneath the names.
      const low = (slice) => this.topOf(this.rowOfSlice(slice)) + this.laneHeight * 0.8;
      c.save();
      c.beginPath();
      c.rect(this.gutter, AXIS, this.plotWidth(), this.height - AXIS);
      c.clip();
      // Light around dark, to be seen on every colour.
      c.strokeStyle = c.fillStyle = theme.fg;
      c.shadowColor = theme.panel;
      c.shadowBlur = 3;
      c.lineWidth = 1.25;
      c.globalAlpha = this.selected ? 1 : 0.7;
      for (const wake of wakes) {
        const arrow = timeline.arrows.ends(data, wake);
        if (!arrow) continue;
        const [x0, x1] = [this.xAt(arrow.at), this.xAt(arrow.start)];
        const y1 = low(arrow.to);
        const y0 = arrow.from < 0 ? y1 : low(arrow.from);
        timeline.arrows.draw(c, x0, y0, x1, y1);
      }
      c.restore();
    }

    /** Says what is seen, once it stays. */
    tellRange() {
      clearTimeout(this.telling);
      this.telling = setTimeout(() => {
        const { instant, length } = timeline.words;
        const [from, to] = this.range().map((ns) => instant(ns, this.span / 1000, this.end));
        const chosen = this.selected ? ` Chosen: ${this.data.tasks[this.selected.task].label}.` : "";
        this.page.status.textContent = `Shown: ${from} to ${to}, ${length(this.span)}.${chosen}`;
      }, 150);
    }

    /** The slice at a point: the longest of those nearest, and how many others are there; null when there is none. */
    hit(x, y) {
      const row = Math.floor((y - AXIS + this.page.scroll.scrollTop) / this.laneHeight);
      if (x < this.gutter || y < AXIS || !this.rows[row]) return null;
      const { lane, task, throttled } = this.rows[row];
      if (throttled !== undefined) return this.hitThrottled(row, lane, x);
      const first = timeline.data.firstVisible(lane, this.timeAt(x - 1));
      const last = timeline.data.lowerBound(lane.start, this.timeAt(x + 1), first);
      if (first === last) return this.hitThrottled(row, timeline.throttled.byTask(this.data).get(task), x);
      let found = timeline.data.sliceAt(lane, this.timeAt(x));
      for (let i = first; found < 0 && i < last; i += 1) if (lane.length[i] > 0 || i === last - 1) found = i;
      const index = task === null ? null : timeline.data.byTask(this.data);
      const slice = index ? index.slice[index.first[task] + found] : this.data.first[row] + found;
      return { slice, others: last - first - 1 };
    }

    /** The throttled stretch of a row at a point; null when there is none. */
    hitThrottled(row, lane, x) {
      const i = lane ? timeline.data.sliceAt(lane, this.timeAt(x)) : -1;
      return i >= 0 ? { stretch: i, row, others: 0 } : null;
    }

    /** What there is to say about what was hit. */
    tell({ slice, stretch, row }) {
      if (slice === undefined) return timeline.throttled.describe(this.data, this.rows[row], stretch);
      return timeline.words.describe(this.data, slice);
    }

    /** Says what is at a point. */
    hover(x, y) {
      const hit = this.hit(x, y);
      if (!hit) return this.hideTip();
      const { tip, canvas, root } = this.page;
      const { title, lines } = this.tell(hit);
      const many = hit.others > 2 ? [`${hit.others} more slices at this place`] : [];
      tip.textContent = [title, ...lines, ...many].join("\n");
      tip.hidden = false;
      const [box, frame] = [canvas.getBoundingClientRect(), root.getBoundingClientRect()];
      const [left, top] = [box.left - frame.left + x, box.top - frame.top + y];
      const room = frame.width - tip.offsetWidth;
      const beside = left + 14 <= room ? left + 14 : Math.max(left - 14 - tip.offsetWidth, 0);
      tip.style.left = `${Math.max(Math.min(beside, room), 0)}px`;
      tip.style.top = `${top + 16}px`;
    }

    hideTip() {
      this.page.tip.hidden = true;
    }

    click(x, y) {
      const hit = this.hit(x, y);
      const task = hit?.slice === undefined ? this.rows[hit?.row]?.task : this.data.all.task[hit.slice];
      this.select(task ?? null);
    }

    /** Chooses a task by its place among the tasks, or none by null. */
    select(task) {
      if (task === (this.selected?.task ?? null)) return;
      this.selected = task === null ? null : this.selectionOf(task);
      this.invalidate();
    }

    selectionOf(task) {
      const lanes = timeline.data.cpuLanesOf(this.data, task);
      return { task, lanes, wakes: timeline.arrows.wakesOf(this.data, task) };
    }
  }

  /**
   * Shows a timeline in an element.
   * @param {Data} data what `decode` gave
   * @param {{label?: string, colours?: Object<string, string> | Map<string, string>, moved?: Function}} options the
   * scheduler's name, the colours of roles, and what each move announces: the timeline and its range
   */
  function mount(element, data, options = {}) {
    return new Timeline(element, data, options);
  }

  const timeline = (globalThis.schedlabTimeline ??= {});
  Object.assign(timeline, { mount });
})();
