// A timeline on paper: the whole run with all lanes, dark on white, whatever part of it is on the screen.

(() => {
  "use strict";

  /** The width of what is drawn, in pixels; paper makes it as wide as its text. */
  const WIDTH = 720;
  const RATIO = 3;
  const LANE = 14;
  /** Canvases end somewhere: many lanes are thinner. */
  const MOST_HEIGHT = 5000;
  const COLOURS = { fg: "#000", muted: "#444", grid: "#bbb", panel: "#fff" };

  /** Makes a view as paper has it, and gives what makes it as it was. */
  function onPaper(view, axis) {
    const { root, scroll, space, canvas } = view.page;
    const before = { from: view.from, span: view.span, scrolled: scroll.scrollTop, selected: view.selected };
    view.isOnPaper = true;
    for (const [name, colour] of Object.entries(COLOURS)) root.style.setProperty(`--tl-${name}`, colour);
    view.readTheme();
    const rows = Math.max(view.rows.length, 1);
    view.laneHeight = Math.min(LANE, Math.max(Math.floor((MOST_HEIGHT - axis) / rows), 1));
    Object.assign(view, { from: 0, span: view.end, selected: null, width: WIDTH, ratio: RATIO, gliding: null });
    view.height = rows * view.laneHeight + axis;
    view.gutter = Math.ceil(Math.min(view.widest, WIDTH * 0.28));
    scroll.style.height = space.style.height = "auto";
    canvas.width = WIDTH * RATIO;
    canvas.height = Math.round(view.height * RATIO);
    Object.assign(canvas.style, { width: "100%", height: "auto" });
    view.draw();
    return () => {
      view.isOnPaper = false;
      for (const name of Object.keys(COLOURS)) root.style.removeProperty(`--tl-${name}`);
      Object.assign(view, { from: before.from, span: before.span, selected: before.selected });
      view.readTheme();
      view.layout();
      scroll.scrollTop = before.scrolled;
      view.draw();
    };
  }

  const timeline = (globalThis.schedlabTimeline ??= {});
  timeline.print = { onPaper };
})();
