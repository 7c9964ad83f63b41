// The timeline's pixels: which colour each pixel of a lane has, whatever the number of slices.

(() => {
  "use strict";

  /** A slice of that many pixels is drawn as itself; narrower ones share a column of pixels. */
  const WIDE = 3;
  /** A gap parts a slice from the next when it has that many pixels. */
  const PARTED = 6;
  /** That many slices of a column are looked at one by one; of more, a summary is asked. */
  const FEW = 24;
  const MOST_BINS = 65536;
  /** That many painted columns of a lane are kept: as many as the widest screen has. */
  const KEPT = 4096;

  /**
   * @typedef {{from: number, scale: number, first?: number}} View the instant at the left edge, the ns of a pixel, and
   * how many pixels there are before the left edge, when it is a whole number: then what was painted can be kept
   * @typedef {{top: number, height: number}} Band the rows of pixels that a lane has
   * @typedef {{pixels: Uint32Array, width: number}} Picture
   */

  /** Finds the task with the most time, without allocation. */
  class Tally {
    constructor(tasks) {
      this.time = new Float64Array(tasks);
      this.touched = [];
      this.clear();
    }

    clear() {
      this.wipe();
      this.task = 0;
      this.most = -1;
    }

    /** Forgets the times, but not which task had most. */
    wipe() {
      for (const task of this.touched) this.time[task] = 0;
      this.touched.length = 0;
    }

    /** Of equals the one that came first stays. */
    add(task, time) {
      if (this.time[task] === 0) this.touched.push(task);
      this.time[task] += time;
      if (this.time[task] > this.most) {
        this.most = this.time[task];
        this.task = task;
      }
    }
  }

  /** The task with the most time in each of `bins` equal parts of the time until `end`, and that time. */
  function countBins(lane, end, bins, tally) {
    const width = end / bins;
    const level = { width, task: new Uint32Array(bins), time: new Float64Array(bins) };
    let bin = 0;
    const settle = () => {
      level.task[bin] = tally.task;
      level.time[bin] = Math.max(tally.most, 0);
      tally.clear();
    };
    tally.clear();
    for (let i = 0; i < lane.start.length; i += 1) {
      const finish = lane.start[i] + lane.length[i];
      const last = Math.min(Math.floor(finish / width), bins - 1);
      for (let at = Math.min(Math.floor(lane.start[i] / width), last); at <= last; at += 1) {
        if (at !== bin) settle();
        bin = at;
        tally.add(lane.task[i], Math.min(finish, (at + 1) * width) - Math.max(lane.start[i], at * width));
      }
    }
    settle();
    tally.clear();
    return level;
  }

  /** A level of half as many bins: of two neighbours the task with more time, and both times if it is the same task. */
  function halve(level) {
    const bins = level.task.length / 2;
    const half = { width: level.width * 2, task: new Uint32Array(bins), time: new Float64Array(bins) };
    for (let bin = 0; bin < bins; bin += 1) {
      const [left, right] = [2 * bin, 2 * bin + 1];
      const more = level.time[left] >= level.time[right] ? left : right;
      half.task[bin] = level.task[more];
      const same = level.task[left] === level.task[right];
      half.time[bin] = same ? level.time[left] + level.time[right] : level.time[more];
    }
    return half;
  }

  /** What is asked of a lane with many slices in a pixel, made when first asked for. */
  function summaryOf(lane, end, tally) {
    if (lane.summary) return lane.summary;
    let bins = 1;
    while (bins < MOST_BINS && bins * 4 <= lane.start.length) bins *= 2;
    const levels = [countBins(lane, end, bins, tally)];
    while (levels.at(-1).task.length > 1) levels.push(halve(levels.at(-1)));
    const busy = new Float64Array(lane.start.length + 1);
    for (let i = 0; i < lane.length.length; i += 1) busy[i + 1] = busy[i] + lane.length[i];
    lane.summary = { levels, busy };
    return lane.summary;
  }

  /**
   * The task with the most time from `from` to `to` among the slices `i` to `j`; of very many, every n-th is sampled.
   * A frame spends its time here, so this counts by hand and clears what it touched in a second pass.
   */
  function countSlices(lane, i, j, from, to, tally) {
    const { start, length, task } = lane;
    const time = tally.time;
    const stride = j - i <= FEW ? 1 : Math.floor((j - i) / FEW);
    let busy = 0;
    let most = -1;
    let winner = 0;
    for (let at = i; at < j; at += stride) {
      const begin = start[at];
      const finish = begin + length[at];
      const part = (finish < to ? finish : to) - (begin > from ? begin : from);
      if (part < 0) continue;
      const sum = (time[task[at]] += part);
      busy += part;
      if (sum > most) {
        most = sum;
        winner = task[at];
      }
    }
    for (let at = i; at < j; at += stride) time[task[at]] = 0;
    tally.task = winner;
    return busy;
  }

  function countLevels(levels, from, to, tally) {
    tally.clear();
    let level = levels[0];
    for (const wider of levels) if (wider.width <= (to - from) / 2) level = wider;
    const last = Math.min(Math.ceil(to / level.width), level.task.length);
    for (let bin = Math.floor(from / level.width); bin < last; bin += 1) tally.add(level.task[bin], level.time[bin]);
    tally.wipe();
  }

  /**
   * The task with the most time from `from` to `to`, in which the slices `i` to `j` of a lane lie.
   * @returns the busy part of the time, in ns; the task is the tally's
   */
  function aggregate(lane, i, j, from, to, end, tally) {
    if (j - i <= FEW) return countSlices(lane, i, j, from, to, tally);
    const { levels, busy } = summaryOf(lane, end, tally);
    if (levels[0].width <= to - from) countLevels(levels, from, to, tally);
    else countSlices(lane, i, j, from, to, tally);
    const before = Math.max(from - lane.start[i], 0);
    const after = Math.max(lane.start[j - 1] + lane.length[j - 1] - to, 0);
    return busy[j] - busy[i] - before - after;
  }

  /** What each column of pixels of a lane shows: its colour, and how high it stands. */
  function emptyColumns(picture) {
    if (picture.columns?.colour.length !== picture.width) {
      picture.columns = { colour: new Uint32Array(picture.width), height: new Uint16Array(picture.width) };
    }
    picture.columns.height.fill(0);
    return picture.columns;
  }

  /** Puts columns into a band, row by row, as they lie in memory. What stands lower leaves what is above it. */
  function putColumns({ pixels, width, columns }, band) {
    const { colour, height } = columns;
    for (let row = 0; row < band.height; row += 1) {
      const least = band.height - row;
      const at = (band.top + row) * width;
      for (let x = 0; x < width; x += 1) if (height[x] >= least) pixels[at + x] = colour[x];
    }
  }

  /**
   * Draws a lane. Costs as much as it has columns of pixels that are not empty, each times the logarithm of the slices.
   * @param {Lane} lane
   * @param {View} view
   * @param {Band} band
   * @param {Picture} picture
   * @param {{colours: Uint32Array, tally: Tally, end: number}} style a colour for each task
   * @param {(slice: number, x0: number, x1: number) => void} [onWide] hears of the slices that are drawn as themselves
   */
  function paintLane(lane, view, band, picture, style, onWide) {
    const columns = emptyColumns(picture);
    const { start, length, task } = lane;
    const from = view.from;
    const width = picture.width;
    let x = 0;
    let i = timeline.data.firstVisible(lane, from);
    while (i < start.length && x < width) {
      const x0 = Math.round((start[i] - from) / view.scale);
      if (x0 >= width) break;
      const x1 = Math.round((start[i] + length[i] - from) / view.scale);
      if (x1 - x0 >= WIDE) {
        const left = Math.max(x0, x);
        const right = Math.max(Math.min(x1 - (x1 - x0 >= PARTED ? 1 : 0), width), left);
        columns.colour.fill(style.colours[task[i]], left, right);
        columns.height.fill(band.height, left, right);
        onWide?.(i, left, right);
        x = Math.max(x, Math.min(x1, width));
        i += 1;
      } else {
        x = Math.max(x, Math.floor((start[i] - from) / view.scale));
        i = paintColumn(lane, i, x, view, band, columns, style);
        x += 1;
      }
    }
    putColumns(picture, band);
  }

  /** Fills one column, which begins with the slice `i`, and gives the first slice that continues beyond it. */
  function paintColumn(lane, i, x, view, band, columns, style) {
    const kept = view.first === undefined ? null : keptColumns(lane, view.scale);
    const place = kept ? (view.first + x) % KEPT : 0;
    if (!kept || kept.number[place] !== view.first + x) {
      const left = view.from + x * view.scale;
      const right = left + view.scale;
      const j = Math.max(timeline.data.gallop(lane.start, right, i), i + 1);
      found.busy = aggregate(lane, i, j, left, right, style.end, style.tally) / view.scale;
      found.task = style.tally.task;
      found.next = lane.start[j - 1] + lane.length[j - 1] > right ? j - 1 : j;
      if (kept) keep(kept, place, view.first + x);
    } else {
      found.busy = kept.busy[place];
      found.task = kept.task[place];
      found.next = kept.next[place];
    }
    columns.height[x] = Math.min(Math.max(Math.round(found.busy * band.height), 1), band.height);
    columns.colour[x] = style.colours[found.task];
    return found.next;
  }

  /** The last column: the busy part of its time, the task with the most time, and the next slice. */
  const found = { busy: 0.5, task: 0, next: 0 };

  /** The columns of a lane that were painted at this scale. When a picture moves, most of it has been seen before. */
  function keptColumns(lane, scale) {
    lane.kept ??= {
      scale: 0, number: new Float64Array(KEPT), busy: new Float32Array(KEPT), task: new Uint32Array(KEPT),
      next: new Uint32Array(KEPT),
    };
    if (lane.kept.scale !== scale) {
      lane.kept.scale = scale;
      lane.kept.number.fill(-1);
    }
    return lane.kept;
  }

  function keep(kept, place, number) {
    kept.number[place] = number;
    kept.busy[place] = found.busy;
    kept.task[place] = found.task;
    kept.next[place] = found.next;
  }

  /** A colour as a pixel: the bytes red, green, blue, opaque. */
  function pixel([red, green, blue]) {
    return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
  }

  /** A colour on its way to another: 0 is the one, 1 the other. */
  function mix(one, other, way) {
    return one.map((value, i) => Math.round(value + (other[i] - value) * way));
  }

  /** Colours that most people can tell apart, after Okabe and Ito, for a light and a dark ground. */
  const PALETTE = {
    light: ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#6f3fd0", "#7a7a7a"],
    dark: ["#3f9fdf", "#f0b429", "#20b98d", "#dd94bb", "#e8743b", "#8fd0f5", "#9a6cf5", "#a0a0a0"],
  };

  function fromHex(hex) {
    return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  }

  /** Whether a colour is a dark one. */
  function isDark([red, green, blue]) {
    return 0.299 * red + 0.587 * green + 0.114 * blue < 128;
  }

  const timeline = (globalThis.schedlabTimeline ??= {});
  timeline.picture = { Tally, aggregate, paintLane, pixel, mix, fromHex, isDark, PALETTE };
})();
