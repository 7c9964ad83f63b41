// Asks the site's search a reader's questions in a browser, and fails if a page that answers one is not among the first
// that it lists. `make docs` calls it for target/site; questions.json has the questions.

import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { extname, join, normalize } from "node:path";

/** How many pages a reader looks at. */
const LOOKED_AT = 5;
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".json": "application/json", ".svg": "image/svg+xml" };

const site = process.argv[2] ?? "target/site";
const here = (name) => readFileSync(new URL(name, import.meta.url));
const questions = JSON.parse(here("questions.json"));

/** Gives a file of the site, and nothing outside of it. */
function give(path, response) {
  const file = join(site, normalize(path));
  if (!statSync(file, { throwIfNoEntry: false })?.isFile()) return response.writeHead(404).end();
  response.writeHead(200, { "Content-Type": TYPES[extname(file)] ?? "application/octet-stream" }).end(readFileSync(file));
}

function serve(tell) {
  return createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url, "http://site").pathname);
    const own = { "/": ["text/html", "harness.html"], "/harness.js": ["text/javascript", "harness.js"], "/asked": ["application/json", "questions.json"] }[path];
    if (own) return response.writeHead(200, { "Content-Type": own[0] }).end(here(own[1]));
    if (path !== "/told") return give(path, response);
    const parts = [];
    request.on("data", (part) => parts.push(part));
    request.on("end", () => (response.end(), tell(JSON.parse(Buffer.concat(parts)))));
  });
}

async function lists() {
  const folder = mkdtempSync(join(tmpdir(), "site-search-"));
  let tell;
  const told = new Promise((resolve) => (tell = resolve));
  const server = serve(tell);
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const address = `http://127.0.0.1:${server.address().port}/`;
  const flags = ["--headless=new", "--no-sandbox", "--disable-gpu", `--user-data-dir=${folder}`, address];
  const browser = spawn("chromium", flags, { stdio: "ignore", detached: true });
  const ended = new Promise((_, reject) => {
    browser.on("error", reject);
    browser.on("exit", (code) => reject(new Error(`chromium ended with ${code}`)));
  });
  try {
    return await Promise.race([told, ended]);
  } finally {
    ended.catch(() => {});
    if (browser.pid) process.kill(-browser.pid, "SIGKILL");
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  }
}

const answers = await lists();
if (!Array.isArray(answers)) throw new Error(answers);
let missing = 0;
questions.forEach(({ question, query, page }, at) => {
  const place = answers[at].indexOf(page);
  const isFound = place >= 0 && place < LOOKED_AT;
  missing += isFound ? 0 : 1;
  const first = isFound ? "" : `; it lists ${answers[at].slice(0, LOOKED_AT).join(", ")}`;
  console.log(`${isFound ? place + 1 : "-"}  ${question} (${query}): ${page}${first}`);
});
console.log(`${questions.length - missing} of ${questions.length} questions are answered by the first ${LOOKED_AT} pages that the search lists`);
process.exitCode = missing > 0 ? 1 : 0;
