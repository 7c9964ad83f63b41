// The timeline's elements and colours: everything around the canvas. Texts are set as text only.

(() => {
  "use strict";

  /** That many roles are named in the legend. */
  const MOST_ROLES = 12;

  /** Unlike the colours of roles. */
  const THROTTLED = { light: "#b0003a", dark: "#ff5c8a" };

  /** An element of a class, with a text, in a parent. */
  function add(parent, tag, className, text = "") {
    const element = parent.ownerDocument.createElement(tag);
    element.className = className;
    element.textContent = text;
    parent.append(element);
    return element;
  }

  function addButton(bar, text, label, act) {
    const button = add(bar, "button", "tl-button", text);
    button.type = "button";
    button.title = label;
    button.setAttribute("aria-label", label);
    button.addEventListener("click", act);
    return button;
  }

  /** Two buttons of which one is on: what the lanes are. */
  function addChoice(bar, choose) {
    const choice = add(bar, "span", "tl-choice");
    choice.setAttribute("role", "group");
    choice.setAttribute("aria-label", "One lane for each");
    const buttons = { cpus: addButton(choice, "CPUs", "One lane for each CPU", () => choose("cpus")) };
    buttons.tasks = addButton(choice, "Tasks", "One lane for each task", () => choose("tasks"));
    return (chosen) => {
      for (const [name, button] of Object.entries(buttons)) button.setAttribute("aria-pressed", name === chosen);
    };
  }

  function addLegend(root, data) {
    const legend = add(root, "div", "tl-legend");
    const seen = new Set(data.tasks.map((task) => task.role ?? data.roles.length));
    const roles = [...seen].sort((a, b) => a - b);
    const chips = roles.slice(0, MOST_ROLES).map((role) => {
      const item = add(legend, "span", "tl-item");
      const chip = add(item, "span", "tl-chip");
      item.append(data.roles[role] ?? "unknown");
      return { role, chip };
    });
    if (roles.length > MOST_ROLES) add(legend, "span", "tl-item", `and ${roles.length - MOST_ROLES} more`);
    if (data.throttled.start.length > 0) {
      const item = add(legend, "span", "tl-item");
      const chip = add(item, "span", "tl-chip");
      item.append("throttled");
      chips.push({ role: "throttled", chip });
    }
    return chips;
  }

  function notes(root, data) {
    const { instant } = timeline.words;
    if (data.keptUntil !== null) {
      const [until, end] = [data.keptUntil, data.runEnd].map((ns) => instant(ns, data.runEnd / 1e4));
      add(root, "p", "tl-note", `There was too much to keep: this ends at ${until}, the run at ${end}.`);
    }
    if (data.all.start.length === 0) add(root, "p", "tl-note", "There are no slices: nothing says which task ran where.");
  }

  /** Builds what is around a canvas, and the canvas. `act` has what the buttons do. */
  function build(element, data, options, act) {
    element.replaceChildren();
    const root = add(element, "div", "tl-root");
    const bar = add(root, "div", "tl-bar");
    if (options.label) add(bar, "span", "tl-name", options.label);
    const showChoice = addChoice(bar, act.lanes);
    addButton(bar, "−", "Zoom out", act.zoomOut);
    addButton(bar, "+", "Zoom in", act.zoomIn);
    addButton(bar, "Whole run", "Show the whole run", act.whole);
    addButton(bar, "Save Perfetto trace", "Save as a trace that ui.perfetto.dev opens", act.save);
    const chips = addLegend(root, data);
    notes(root, data);
    const scroll = add(root, "div", "tl-scroll");
    const canvas = add(scroll, "canvas", "tl-canvas");
    const space = add(scroll, "div", "tl-space");
    const tip = add(root, "div", "tl-tip");
    tip.setAttribute("role", "tooltip");
    tip.hidden = true;
    const status = add(root, "p", "tl-status");
    status.setAttribute("aria-live", "polite");
    describeCanvas(canvas, data, options);
    return { root, scroll, canvas, space, tip, status, chips, showChoice, probe: add(root, "span", "tl-probe") };
  }

  function describeCanvas(canvas, data, options) {
    const whose = options.label ? ` of ${options.label}` : "";
    const size = `${data.cpus} CPUs, ${data.tasks.length} tasks, ${data.all.start.length} slices`;
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "application");
    const keys = "Arrow keys move, plus and minus zoom, 0 shows the whole run, Escape clears the choice.";
    canvas.setAttribute("aria-label", `Timeline${whose}: ${size}. ${keys}`);
  }

  /** Reads colours as the page has them, by an element that shows them and a canvas that mixes them. */
  function colourReader(probe) {
    const one = probe.ownerDocument.createElement("canvas");
    one.width = one.height = 1;
    const context = one.getContext("2d", { willReadFrequently: true });
    return (colour) => {
      probe.style.color = "";
      probe.style.color = colour;
      context.clearRect(0, 0, 1, 1);
      context.fillStyle = getComputedStyle(probe).color;
      context.fillRect(0, 0, 1, 1);
      return [...context.getImageData(0, 0, 1, 1).data.slice(0, 3)];
    };
  }

  /**
   * The colours of a timeline on this page: of texts and lines as CSS, of tasks as pixels.
   * Tasks of a role differ a little, so that a switch between them shows.
   */
  function theme(probe, data, options) {
    const { mix, pixel, fromHex, isDark, PALETTE } = timeline.picture;
    const read = colourReader(probe);
    const [fg, muted, grid, panel] = ["fg", "muted", "grid", "panel"].map((name) => read(`var(--tl-${name})`));
    const palette = PALETTE[isDark(panel) ? "dark" : "light"].map(fromHex);
    const given = options.colours instanceof Map ? Object.fromEntries(options.colours) : options.colours ?? {};
    const roles = [...data.roles, "unknown"].map((name, i) =>
      Object.hasOwn(given, name) ? read(given[name]) : palette[i % palette.length],
    );
    const throttled = fromHex(THROTTLED[isDark(panel) ? "dark" : "light"]);
    const seen = roles.map(() => 0);
    const tasks = data.tasks.map(({ role }) => {
      const of = role ?? data.roles.length;
      return mix(roles[of], panel, ((seen[of]++ % 3) * 0.35) / 2);
    });
    const css = ([red, green, blue]) => `rgb(${red} ${green} ${blue})`;
    return {
      fg: css(fg), muted: css(muted), grid: css(grid), panel: css(panel),
      roles: Object.assign(roles.map(css), { throttled: css(throttled) }),
      throttled: new Uint32Array(tasks.length).fill(pixel(throttled)),
      bright: Uint32Array.from(tasks, pixel),
      faded: Uint32Array.from(tasks, (colour) => pixel(mix(colour, panel, 0.78))),
      ink: tasks.map((colour) => (isDark(colour) ? "#fff" : "#111")),
    };
  }

  /** Gives bytes to the reader as a file. */
  function save(name, bytes) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([bytes], { type: "application/octet-stream" }));
    link.download = `${name.replace(/[^\p{L}\p{N}._-]+/gu, "-").replace(/^[.-]+/, "") || "timeline"}.pftrace`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  }

  const timeline = (globalThis.schedlabTimeline ??= {});
  timeline.page = { build, theme, save };
})();
