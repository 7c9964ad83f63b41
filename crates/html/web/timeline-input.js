// What hands do with a timeline: pointers, wheel and keys.

(() => {
  "use strict";

  /** A pointer that moved less than that many pixels did not drag. */
  const STILL = 4;
  /** A notch of the wheel, or a key, zooms by that much. */
  const STEP = 1.5;
  const PAN = 0.2;

  /** Drags, pinches and clicks. `view` is in pixels of the page, from the canvas's corner. */
  class Hands {
    constructor(view, canvas) {
      this.view = view;
      this.canvas = canvas;
      /** The pointers that are down, by their number. */
      this.down = new Map();
      this.moved = false;
    }

    place(event) {
      const box = this.canvas.getBoundingClientRect();
      return { x: event.clientX - box.left, y: event.clientY - box.top };
    }

    press(event) {
      if (event.button > 0) return;
      this.canvas.setPointerCapture?.(event.pointerId);
      this.down.set(event.pointerId, this.place(event));
      if (this.down.size === 1) {
        this.moved = false;
        this.from = this.place(event);
      }
    }

    move(event) {
      const to = this.place(event);
      const from = this.down.get(event.pointerId);
      if (!from) return this.view.hover(to.x, to.y);
      if (this.down.size === 1 && !this.moved && Math.hypot(to.x - this.from.x, to.y - this.from.y) < STILL) return;
      this.moved = true;
      this.view.hideTip();
      if (this.down.size === 1) this.view.panBy(from.x - to.x);
      else this.pinch(event.pointerId, from, to);
      this.down.set(event.pointerId, to);
    }

    /** One of two fingers moved: what is between them stays there. */
    pinch(pointer, from, to) {
      const [, other] = [...this.down].find(([id]) => id !== pointer);
      const before = Math.max(Math.abs(from.x - other.x), 8);
      const after = Math.max(Math.abs(to.x - other.x), 8);
      this.view.zoomAt(other.x, before / after);
    }

    release(event) {
      if (!this.down.delete(event.pointerId) || this.moved || event.type === "pointercancel") return;
      const { x, y } = this.place(event);
      this.view.hover(x, y);
      this.view.click(x, y);
    }

    /** Lines and pages of the wheel, in pixels. */
    pixels(event) {
      return [1, 16, 400][event.deltaMode] ?? 1;
    }

    wheel(event) {
      const unit = this.pixels(event);
      if (event.shiftKey) return this.wheelLanes(event, (event.deltaY || event.deltaX) * unit);
      if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        event.preventDefault();
        return this.view.panBy(event.deltaX * unit);
      }
      // Zoomed out as far as it goes, the wheel scrolls the page.
      if (event.deltaY > 0 && this.view.isWhole()) return;
      event.preventDefault();
      this.view.zoomAt(this.place(event).x, STEP ** ((event.deltaY * unit) / 100));
    }

    wheelLanes(event, pixels) {
      event.preventDefault();
      if (!this.view.scrollLanes(pixels)) this.view.panBy(pixels);
    }
  }

  /** What keys do. */
  const KEYS = {
    ArrowLeft: (view) => view.panBy(-PAN * view.plotWidth()),
    ArrowRight: (view) => view.panBy(PAN * view.plotWidth()),
    ArrowUp: (view) => view.scrollLanes(-40),
    ArrowDown: (view) => view.scrollLanes(40),
    "+": (view) => view.zoom(1 / STEP),
    "=": (view) => view.zoom(1 / STEP),
    "-": (view) => view.zoom(STEP),
    0: (view) => view.whole(),
    Home: (view) => view.whole(),
    Escape: (view) => view.select(null),
  };

  /** Lets hands move a view. `signal` ends it. */
  function attach(view, canvas, signal) {
    const hands = new Hands(view, canvas);
    const on = (name, handler, options) => canvas.addEventListener(name, handler, { signal, ...options });
    on("pointerdown", (event) => hands.press(event));
    on("pointermove", (event) => hands.move(event));
    on("pointerup", (event) => hands.release(event));
    on("pointercancel", (event) => hands.release(event));
    on("pointerleave", (event) => event.pointerType !== "touch" && view.hideTip());
    on("wheel", (event) => hands.wheel(event), { passive: false });
    on("dblclick", (event) => view.glideAt(hands.place(event).x, 1 / 4));
    on("keydown", (event) => {
      const act = KEYS[event.key];
      if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
      // Up and down belong to the page when all lanes are there.
      if (act(view) !== false) event.preventDefault();
    });
  }

  const timeline = (globalThis.schedlabTimeline ??= {});
  timeline.input = { Hands, attach };
})();
