// Types each query into the site's search, as a reader does, and tells which pages it lists.

const PATIENCE_MS = 20000;
const STEP_MS = 50;
/** How long a list has to stay as it is before it counts. */
const QUIET_MS = 400;

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

async function until(what) {
  const end = performance.now() + PATIENCE_MS;
  for (;;) {
    const found = what();
    if (found) return found;
    if (performance.now() > end) throw new Error(`nothing came of: ${what}`);
    await pause(STEP_MS);
  }
}

function type(field, text) {
  field.focus();
  field.value = text;
  for (const kind of ["input", "keyup"]) field.dispatchEvent(new Event(kind, { bubbles: true }));
}

/** The pages of the list, best first, each once. */
function listed(site) {
  const links = [...site.querySelectorAll(".md-search-result__item > a, .md-search-result__item > .md-search-result__link")];
  const pages = links.map((link) => new URL(link.href).pathname.slice(1));
  return [...new Set(pages)];
}

async function answer(site, field, query) {
  type(field, "");
  await until(() => listed(site).length === 0);
  type(field, query);
  await until(() => listed(site).length > 0);
  let [before, since] = ["", performance.now()];
  while (performance.now() - since < QUIET_MS) {
    const now = listed(site).join();
    if (now !== before) [before, since] = [now, performance.now()];
    await pause(STEP_MS);
  }
  return listed(site);
}

async function answers(questions) {
  const site = await until(() => {
    const page = document.querySelector("iframe").contentDocument;
    return page?.readyState === "complete" && page.querySelector(".md-search__input") && page;
  });
  const field = site.querySelector(".md-search__input");
  field.focus();
  const pages = [];
  for (const { query } of questions) pages.push(await answer(site, field, query).catch((error) => [String(error)]));
  return pages;
}

const questions = await (await fetch("/asked")).json();
const told = await answers(questions).catch((error) => String(error));
await fetch("/told", { method: "POST", body: JSON.stringify(told) });
