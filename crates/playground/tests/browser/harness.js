// Uses the page in a frame as a reader does, and tells the server what it gave.

const frame = document.getElementById("frame");
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

/** Waits for five minutes at most, for machines that have much else to do. */
async function until(what, condition) {
  for (const begun = performance.now(); performance.now() - begun < 300_000; ) {
    const found = condition();
    if (found) return found;
    await sleep(10);
  }
  throw new Error(`it never happened: ${what}`);
}

const page = () => frame.contentWindow.schedlabPlayground.shown;
const byId = (id) => frame.contentDocument.getElementById(id);

/** Does something that makes a run, and gives its answer, or the error. */
async function after(act) {
  page().answer = page().error = null;
  act();
  await until("an answer", () => page().answer ?? page().error);
  return { result: page().answer?.result ?? null, error: page().error };
}

function set(id, value, event = "change") {
  byId(id).value = value;
  byId(id).dispatchEvent(new frame.contentWindow.Event(event));
}

async function open() {
  frame.src = "/page.html";
  const isBroken = () => byId("state")?.textContent.startsWith("Not simulated");
  await until("the first picture", () => isBroken() || frame.contentWindow.schedlabPlayground?.shown?.firstPicture);
  if (isBroken()) throw new Error("the first run failed");
  return page().firstPicture;
}

/** The bytes of each pair, asked for by the page's address. */
async function results(pairs) {
  const found = [];
  for (const { scenario, policy } of pairs) {
    const address = new URLSearchParams({ scenario, policy });
    found.push(await after(() => (frame.contentWindow.location.hash = `#${address}`)));
  }
  return found;
}

/** What controls do: other than by the address. */
async function controls() {
  set("scenario", "heavy-load");
  await until("an answer", () => page().answer);
  await after(() => set("policy", "mlfq"));
  set("parameter-levels", "4");
  await until("an answer", () => byId("command").textContent.includes("levels=4"));
  const seeded = await after(() => set("seed", "7"));
  return { command: byId("command").textContent, result: seeded.result };
}

/** An error in the scenario, and in a parameter. */
async function errors(broken) {
  set("policy", "rr");
  set("seed", "");
  set("text", broken, "input");
  const scenario = await after(() => byId("run").click());
  const shown = byId("error").textContent;
  byId("restore").click();
  await until("an answer", () => byId("error").hidden);
  const parameter = await after(() => set("parameter-quantum", "5"));
  await after(() => set("parameter-quantum", ""));
  return { scenario: scenario.error, shown, parameter: parameter.error };
}

/** A run that takes too long is stopped, and the next one is none the worse. */
async function stops(text) {
  set("text", text, "input");
  byId("run").click();
  await until("a run", () => !byId("stop").disabled && byId("state").textContent.startsWith("Simulat"));
  await sleep(300);
  byId("stop").click();
  await until("the stop", () => byId("state").textContent === "Stopped");
  byId("restore").click();
  await until("the next run", () => byId("state").textContent.startsWith("Simulated in"));
  return byId("command").textContent;
}

/** Plays, and counts what is drawn. */
async function plays(address) {
  await after(() => (frame.contentWindow.location.hash = address));
  const { player } = page();
  const pixels = () => byId("stage").toDataURL();
  const before = pixels();
  byId("play").click();
  await sleep(200);
  const [frames, from, begun] = [player.frames, player.time, performance.now()];
  await sleep(3000);
  const seconds = (performance.now() - begun) / 1000;
  const told = { rate: (player.frames - frames) / seconds, passed: player.time - from, speed: player.speed, seconds };
  byId("play").click();
  return { ...told, isPaused: !player.isPlaying, changed: before !== pixels(), stage: byId("stage").getAttribute("aria-label") };
}

const asked = await (await fetch("/asked")).json();
let told;
try {
  const firstPicture = await open();
  told = {
    firstPicture,
    results: await results(asked.pairs),
    controls: await controls(),
    errors: await errors(asked.broken),
    stopped: await stops(asked.endless),
    plays: await plays(asked.busy),
  };
} catch (error) {
  told = { failure: `${error}\n${error.stack}\n${byId("state")?.textContent} ${byId("error")?.textContent}` };
}
await fetch("/told", { method: "POST", body: JSON.stringify(told) });
