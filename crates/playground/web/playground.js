// The page: a question goes to the simulator, its answer to the timeline, the stage and the tables.

(() => {
  "use strict";

  const { Form, Player, Simulator, Stage, element } = schedlabPlayground;
  const byId = (id) => document.getElementById(id);

  const player = new Player(new Stage(byId("stage")));
  const simulator = new Simulator((now) => showProgress(now));
  const form = new Form((question) => run(question));
  /** What the last run gave; for tests, with when its first picture was there. */
  const shown = (schedlabPlayground.shown = { answer: null, error: null, label: null, firstPicture: null, player });

  function showProgress(now) {
    byId("state").textContent = `Simulated ${schedlabTimeline.words.length(now)}`;
  }

  function setBusy(isBusy) {
    byId("stop").disabled = !isBusy;
    byId("progress").hidden = !isBusy;
    if (isBusy) byId("progress").removeAttribute("value");
  }

  async function run(question) {
    const state = byId("state");
    const label = form.label();
    setBusy(true);
    state.textContent = "Simulating";
    try {
      const answer = await simulator.ask(question);
      show(answer, question, label);
      state.textContent = `Simulated in ${Math.round(answer.took)} ms`;
    } catch (error) {
      if (error === null) {
        if (!simulator.isBusy) state.textContent = "Stopped";
        return;
      }
      showError(error.message);
      state.textContent = "Not simulated";
    } finally {
      if (!simulator.isBusy) setBusy(false);
    }
  }

  function showError(text) {
    shown.error = text;
    byId("error").textContent = text;
    byId("error").hidden = text === null;
  }

  function show(answer, question, label) {
    showError(null);
    const data = schedlabTimeline.decode(JSON.parse(answer.header), answer.timeline);
    player.timeline?.destroy();
    const timeline = schedlabTimeline.mount(byId("timeline"), data, { label: question.policy });
    player.show(timeline);
    // The tables of the run before stay, to be compared.
    byId("before-tables").replaceChildren(...byId("tables").children);
    byId("before-label").textContent = shown.label;
    byId("before").hidden = shown.label === null;
    shown.label = label;
    byId("tables").replaceChildren(...JSON.parse(answer.tables).map(tableOf));
    byId("whole").textContent = answer.whole;
    byId("page").textContent = answer.page;
    byId("command").textContent = `schedlab run ${label} --json`;
    byId("save-result").onclick = () => save(`${question.origin.replace(/\.toml$/, "")}.json`, answer.result);
    byId("save-scenario").onclick = () => save(question.origin, question.scenario);
    shown.answer = answer;
    requestAnimationFrame(() => requestAnimationFrame(() => (shown.firstPicture ??= performance.now())));
  }

  /** A table whose heads say what is below them. */
  function tableOf({ columns }) {
    const kind = ({ is_numeric }) => (is_numeric ? "number" : "");
    const heads = columns.map((column) => element("th", { scope: "col", className: kind(column), title: column.about ?? "", textContent: column.head }));
    const row = (i) => element("tr", {}, ...columns.map((column) => element("td", { className: kind(column), textContent: column.cells[i] ?? "" })));
    const rows = Array.from({ length: columns[0].cells.length }, (_, i) => row(i));
    const table = element("table", {}, element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...rows));
    const scroll = element("div", { className: "scroll", tabIndex: 0 }, table);
    scroll.setAttribute("role", "region");
    scroll.setAttribute("aria-label", "The roles");
    return scroll;
  }

  /** Gives a text to the reader as a file. */
  function save(name, text) {
    const link = element("a", { href: URL.createObjectURL(new Blob([text])), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  }

  // Where there is little room the timeline comes before long texts.
  const hasRoom = matchMedia("(min-width: 60rem)").matches;
  for (const part of document.querySelectorAll(".wide-open")) part.open = hasRoom;
  byId("stop").addEventListener("click", () => simulator.stop());

  form.begin();
  run(form.question());
})();
