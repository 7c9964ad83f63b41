// The timeline's arrows: from the waker, at the wake-up, to where the woken task then ran.

(() => {
  "use strict";

  /** More arrows than these are not drawn: of all tasks, and of the chosen one. */
  const MOST = 40;
  const MOST_OF_ONE = 150;

  /** The wake-ups that concern a task, by it or of it, in the order of time. */
  function wakesOf(data, task) {
    const { waker, woken } = data.wakes;
    const found = [];
    woken.forEach((other, wake) => (other === task || waker[wake] === task + 1) && found.push(wake));
    return found;
  }

  /**
   * The wake-ups to draw arrows for, none when they are too many.
   * @param chosen the wake-ups of the chosen task, or null
   */
  function visible(data, from, to, chosen) {
    const time = (i) => data.wakes.time[chosen ? chosen[i] : i];
    const count = chosen ? chosen.length : data.wakes.time.length;
    const bound = (instant) => {
      let [low, high] = [0, count];
      while (low < high) {
        const middle = (low + high) >>> 1;
        if (time(middle) < instant) low = middle + 1;
        else high = middle;
      }
      return low;
    };
    // A wake-up before what is seen may lead to a slice in it.
    const [first, last] = [bound(from - (to - from)), bound(to)];
    if (last - first > (chosen ? MOST_OF_ONE : MOST)) return [];
    return Array.from({ length: last - first }, (_, i) => (chosen ? chosen[first + i] : first + i));
  }

  /** Where an arrow begins and ends: instants and slices, the first -1 when no task woke it; null without an end. */
  function ends(data, wake) {
    const at = data.wakes.time[wake];
    const to = timeline.data.firstSliceFrom(data, data.wakes.woken[wake], at);
    if (to < 0) return null;
    const waker = data.wakes.waker[wake];
    const from = waker > 0 ? timeline.data.sliceOf(data, waker - 1, at) : -1;
    return { at, from, to, start: data.all.start[to] };
  }

  /** Draws an arrow between two points of a canvas. */
  function draw(context, x0, y0, x1, y1) {
    const bend = y0 === y1 ? 0 : Math.max(Math.min(Math.abs(x1 - x0) / 2, 120), 8);
    context.beginPath();
    context.moveTo(x0, y0);
    context.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
    context.stroke();
    const size = Math.hypot(x1 - x0, y1 - y0) < 12 ? 0.6 : 1;
    context.beginPath();
    context.arc(x0, y0, 2 * size, 0, 2 * Math.PI);
    context.moveTo(x1 + 1, y1);
    context.lineTo(x1 - 6 * size, y1 - 3.5 * size);
    context.lineTo(x1 - 6 * size, y1 + 3.5 * size);
    context.closePath();
    context.fill();
  }

  const timeline = (globalThis.schedlabTimeline ??= {});
  timeline.arrows = { wakesOf, visible, ends, draw };
})();
