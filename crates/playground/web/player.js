// Time as it passes: play and pause, the speed, the instant that is shown.

(() => {
  "use strict";

  /** Simulated time in a second, in ns. */
  const SPEEDS = [1e5, 1e6, 5e6, 2e7, 1e8, 5e8, 2e9, 1e10];
  /** At first a slice lasts about that many seconds. */
  const SECONDS_A_SLICE = 0.6;
  /** What is seen of the timeline while it plays, in seconds of playback. */
  const SECONDS_SEEN = 8;
  /** Where the instant is then, as a part of what is seen. */
  const AHEAD = 0.6;

  const byId = (id) => document.getElementById(id);

  class Player {
    constructor(stage) {
      this.stage = stage;
      this.time = 0;
      this.isPlaying = false;
      this.frames = 0;
      byId("speed").append(...SPEEDS.map((speed) => new Option(`${schedlabTimeline.words.length(speed)} a second`, speed)));
      byId("speed").addEventListener("change", () => this.pick(Number(byId("speed").value)));
      byId("play").addEventListener("click", () => this.toggle());
      byId("back").addEventListener("click", () => this.seek(0));
      byId("scrub").addEventListener("input", () => this.seek(Number(byId("scrub").value)));
      document.addEventListener("keydown", (event) => this.key(event));
      new ResizeObserver(() => this.timeline && (this.stage.layout(), (this.isStill = true), this.invalidate())).observe(byId("stage").parentElement);
    }

    /** The space bar plays and pauses, wherever no control has another use for it. */
    key(event) {
      if (event.key !== " " || event.target.closest("input, textarea, select, button, summary, a")) return;
      event.preventDefault();
      this.toggle();
    }

    /** Shows a run from its start. */
    show(timeline) {
      this.timeline = timeline;
      const { data } = timeline;
      byId("scrub").max = data.end;
      const slice = data.all.length.reduce((sum, length) => sum + length, 0) / Math.max(data.all.length.length, 1);
      const wanted = slice / SECONDS_A_SLICE || SPEEDS[0];
      if (!this.isChosen) this.setSpeed(SPEEDS.findLast((speed) => speed <= wanted) ?? SPEEDS[0]);
      // Where the reader looks goes where the time is.
      const draw = timeline.draw.bind(timeline);
      timeline.draw = () => (draw(), this.drawHead());
      this.stage.show(timeline);
      this.seek(0);
    }

    setSpeed(speed) {
      this.speed = speed;
      byId("speed").value = speed;
    }

    /** The reader's choice outlasts a run. */
    pick(speed) {
      this.isChosen = true;
      this.setSpeed(speed);
      if (this.isPlaying) this.follow(true);
    }

    toggle() {
      if (!this.timeline) return;
      this.isPlaying = !this.isPlaying;
      byId("play").textContent = this.isPlaying ? "Pause" : "Play";
      byId("play").setAttribute("aria-pressed", String(this.isPlaying));
      if (this.isPlaying && this.time >= this.timeline.data.end) this.seek(0);
      if (this.isPlaying) this.follow(true);
      this.before = performance.now();
      this.invalidate();
    }

    seek(time) {
      this.time = Math.min(Math.max(time, 0), this.timeline?.data.end ?? 0);
      this.isStill = true;
      this.follow(false);
      this.invalidate();
    }

    /** Moves what is seen of the timeline with the instant; `anew` with the speed's scale. */
    follow(anew) {
      const [from, to] = this.timeline.range();
      const span = anew ? Math.min(this.speed * SECONDS_SEEN, this.timeline.data.end) : to - from;
      if (span < this.timeline.data.end || anew) this.timeline.panTo(this.time - span * AHEAD, this.time + span * (1 - AHEAD));
    }

    invalidate() {
      this.pending ??= requestAnimationFrame((now) => {
        this.pending = null;
        this.frame(now);
      });
    }

    frame(now) {
      if (!this.timeline) return;
      this.frames += 1;
      if (this.isPlaying) {
        // A page that was hidden continues where it was.
        const passed = Math.min(now - this.before, 250) / 1000;
        this.before = now;
        this.time = Math.min(this.time + Math.max(passed, 0) * this.speed, this.timeline.data.end);
        this.follow(false);
        if (this.time >= this.timeline.data.end) this.toggle();
      }
      const isStill = this.isStill || matchMedia("(prefers-reduced-motion: reduce)").matches;
      this.isStill = false;
      const isMoving = this.stage.draw(this.time, isStill);
      byId("scrub").value = this.time;
      const { end } = this.timeline.data;
      const clock = schedlabTimeline.words.instant(this.time, end / 1e4, end);
      byId("clock").textContent = clock;
      byId("scrub").setAttribute("aria-valuetext", clock);
      this.drawHead();
      if (this.isPlaying || isMoving) this.invalidate();
    }

    /** The line at the instant. */
    drawHead() {
      const head = byId("playhead");
      const [from, to] = this.timeline.range();
      head.hidden = this.time < from || this.time > to;
      const scroll = this.timeline.page.scroll;
      const place = scroll.getBoundingClientRect();
      const outer = head.parentElement.getBoundingClientRect();
      head.style.transform = `translate(${place.left - outer.left + this.timeline.xAt(this.time)}px, ${place.top - outer.top}px)`;
      head.style.height = `${place.height}px`;
    }
  }

  globalThis.schedlabPlayground ??= {};
  schedlabPlayground.Player = Player;
})();
