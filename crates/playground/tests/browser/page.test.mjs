// What the page gives in browsers is what the command line prints, byte for byte.
//
// PLAYGROUND is the page, SCHEDLAB the program. `tools/playground` says which browser is missing.

import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";

const SCENARIOS = ["heavy-load", "moderate-load", "service"];
const POLICIES = ["fcfs", "rr:quantum=20ms", "mlfq:levels=4,starve=age(50ms)", "linux-o1", "cfs", "eevdf", "ule", "windows", "alb"];
const PAIRS = SCENARIOS.flatMap((scenario) => POLICIES.map((policy) => ({ scenario, policy })));

const BROKEN = 'name = "broken"\n[machine]\ncpus = 2\n[[task]]\nname = "a"\nloop = [{ compute = "5" }]\n[run]\nduration = "1s"\n';
const ENDLESS = 'name = "endless"\n[machine]\ncpus = 2\n[[task]]\nname = "a"\ncount = 8\nloop = [{ compute = "1us" }, { sleep = "1us" }]\n[run]\nduration = "100000s"\n';

const BROWSERS = {
  chromium: (folder, address) => ["--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1280,1000", `--user-data-dir=${folder}`, address],
  "firefox-esr": (folder, address) => ["--headless", "--no-remote", "--width=1280", "--height=1000", "--profile", folder, address],
};

const here = (name) => readFileSync(new URL(name, import.meta.url));
const page = readFileSync(process.env.PLAYGROUND);
const schedlab = (...words) =>
  execFileSync(process.env.SCHEDLAB, words, { maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "ignore"] }).toString();

/** Lets a browser use the page, and gives what it told and all that it asked for. */
async function used(browser) {
  const requests = [];
  const asked = { pairs: PAIRS, broken: BROKEN, endless: ENDLESS, busy: "#scenario=compositor&policy=eevdf" };
  const folder = mkdtempSync(join(tmpdir(), "playground-"));
  let tell;
  const told = new Promise((resolve) => (tell = resolve));
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url, "http://page");
    requests.push(pathname);
    const give = (type, body) => response.writeHead(200, { "Content-Type": type }).end(body);
    if (pathname === "/") give("text/html", here("harness.html"));
    else if (pathname === "/harness.js") give("text/javascript", here("harness.js"));
    else if (pathname === "/page.html") give("text/html", page);
    else if (pathname === "/asked") give("application/json", JSON.stringify(asked));
    else if (pathname === "/told") {
      const parts = [];
      request.on("data", (part) => parts.push(part));
      request.on("end", () => (give("text/plain", ""), tell(JSON.parse(Buffer.concat(parts)))));
    } else response.writeHead(404).end();
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const program = spawn(browser, BROWSERS[browser](folder, `http://127.0.0.1:${server.address().port}/`), { stdio: "ignore", detached: true });
  const ended = new Promise((_, reject) => program.on("exit", (code) => reject(new Error(`${browser} ended with ${code}`))));
  try {
    return { told: await Promise.race([told, ended]), requests };
  } finally {
    ended.catch(() => {});
    // The browser and all that it started.
    process.kill(-program.pid, "SIGKILL");
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  }
}

/** What the command line says is wrong with a scenario or a policy, without the program's name. */
function refusal(...words) {
  return spawnSync(process.env.SCHEDLAB, words, { encoding: "utf8" }).stderr;
}

function fileOf(text) {
  const folder = mkdtempSync(join(tmpdir(), "playground-"));
  const path = join(folder, "scenario.toml");
  writeFileSync(path, text);
  return { folder, path };
}

const wanted = PAIRS.map(({ scenario, policy }) => schedlab("run", scenario, "--policy", policy, "--json"));

for (const browser of Object.keys(BROWSERS)) {
  const isThere = spawnSync(browser, ["--version"]).status === 0;
  test(`${browser} gives the bytes of the command line`, async (t) => {
    if (!isThere) return t.diagnostic(`${browser} is not there`);
    const { told, requests } = await used(browser);
    assert.equal(told.failure, undefined);
    PAIRS.forEach(({ scenario, policy }, i) => {
      assert.equal(told.results[i].error, null, `${scenario} under ${policy}`);
      assert.ok(told.results[i].result === wanted[i], `${scenario} under ${policy}: other bytes`);
    });
    const outside = requests.filter((path) => !["/", "/harness.js", "/page.html", "/asked", "/told", "/favicon.ico"].includes(path));
    assert.deepEqual(outside, [], "the page asks for something");

    assert.equal(told.controls.command, "schedlab run heavy-load --policy mlfq:levels=4 --seed 7 --json");
    assert.ok(told.controls.result === schedlab("run", "heavy-load", "--policy", "mlfq:levels=4", "--seed", "7", "--json"));

    const { folder, path } = fileOf(BROKEN);
    const said = refusal("run", path, "--policy", "rr").replaceAll(path, "scenario.toml");
    rmSync(folder, { recursive: true });
    assert.ok(told.errors.scenario.includes("6:"), told.errors.scenario);
    assert.equal(told.errors.shown, told.errors.scenario);
    assert.ok(said.includes(told.errors.scenario), `${said} and ${told.errors.scenario}`);
    const parameter = refusal("run", "heavy-load", "--policy", "rr:quantum=5");
    assert.ok(parameter.includes(told.errors.parameter), `${parameter} and ${told.errors.parameter}`);

    assert.ok(told.stopped.startsWith("schedlab run heavy-load"), told.stopped);
    assert.ok(told.plays.changed && told.plays.isPaused && told.plays.passed > 0, JSON.stringify(told.plays));
    assert.match(told.plays.stage, /^CPU 0: .*waiting, .*blocked$/);
    t.diagnostic(`${browser}: ${PAIRS.length} results are equal; first picture after ${Math.round(told.firstPicture)} ms; ${Math.round(told.plays.rate)} frames a second`);
  });
}
test("the page is one file", (t) => {
  const text = page.toString();
  assert.ok(!/(src|href)=["'](?!#)/.test(text.replace(/<script[^]*?<\/script>/g, "")), "it names another file");
  t.diagnostic(`the page has ${page.length} bytes`);
});
