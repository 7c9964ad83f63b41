// Charts in places of different widths, and tables with numbers of people.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import vm from "node:vm";

const web = new URL("..", import.meta.url);
let isDark = false;
globalThis.matchMedia = (query) => ({ get matches() { return isDark && query.includes("dark"); }, addEventListener() {} });
globalThis.schedlabLooks = { light: { legend: { offset: 16 } }, dark: {} };
for (const name of ["tables.js", "charts.js"]) {
  vm.runInThisContext(readFileSync(new URL(name, web), "utf8"), { filename: name });
}
const { fitted } = globalThis.schedlabCharts;

/** Panels of a chart with an entry in the legend for each scheduler. */
function panels(count, schedulers = ["rr"]) {
  const rows = Array.from({ length: count }, (_, panel) => schedulers.map((scheduler) => ({ panel, scheduler }))).flat();
  const color = { field: "scheduler", type: "nominal", scale: { range: ["#3c4ec8"] } };
  const spec = { width: 300, encoding: { color } };
  return { data: { values: rows }, facet: { field: "panel" }, columns: 2, spec, usermeta: { dark: { "#3c4ec8": "#4459d4" } } };
}

test("many panels stand side by side where few would not", () => {
  const [few, many] = [fitted(panels(2), 540), fitted(panels(4), 540)];
  assert.deepEqual([few.columns, many.columns], [1, 2]);
  assert.ok(many.spec.width >= 130 && 2 * many.spec.width < 540);
  assert.equal(fitted(panels(4), 330).columns, 1, "a telephone has no room for two");
});

test("the legend of panels below one another is above them", () => {
  assert.deepEqual([1, 4].map((count) => fitted(panels(count), 540).config.legend.orient), ["bottom", "top"]);
});

test("long entries of a legend stand below one another", () => {
  const legend = (name, width) => fitted(panels(1, [name, "b"]), width).config.legend;
  assert.equal(legend("rr", 540).columns, 4);
  assert.equal(legend("rr: task.with-a-name = 1", 540).columns, 2);
  assert.equal(legend("l".repeat(200), 330).columns, 1);
  assert.ok(legend("l".repeat(200), 330).labelLimit <= 270);
});

test("names of rows leave half of a telephone to what they name, and keep their ends", () => {
  const axis = { labelLimit: 420 };
  const specification = { data: { values: [] }, width: 420, layer: [{ encoding: { y: { field: "what", axis } } }] };
  const { labelLimit, labelExpr } = fitted(specification, 330).layer[0].encoding.y.axis;
  assert.equal(labelLimit, 149);
  assert.match(labelExpr, /slice\(datum\.label, 0, 10\).*slice\(datum\.label, -10\)/);
  assert.deepEqual(fitted(specification, 1100).layer[0].encoding.y.axis, axis);
});

test("a dark page has the lighter colours", () => {
  const range = () => fitted(panels(1), 540).spec.encoding.color.scale.range;
  assert.deepEqual(range(), ["#3c4ec8"]);
  isDark = true;
  assert.deepEqual(range(), ["#4459d4"]);
  isDark = false;
});

test("a minus sign is that of a number", () => {
  const { order } = globalThis.schedlabTables;
  const cells = ["+3.1 %", "−27 %", "−5.0 %", "-", "0"];
  assert.deepEqual(cells.sort(order), ["−27 %", "−5.0 %", "0", "+3.1 %", "-"]);
});
