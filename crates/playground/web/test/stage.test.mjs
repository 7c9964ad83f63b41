// What the tasks do at an instant.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import vm from "node:vm";
import { load, pack, story } from "../../../html/web/test/helpers.mjs";

const timeline = load();
vm.runInThisContext(readFileSync(new URL("../stage.js", import.meta.url), "utf8"), { filename: "stage.js" });
const { stateAt } = globalThis.schedlabPlayground;

const data = ({ header, bytes }) => timeline.decode(header, bytes);

test("a task is on a CPU, waits after it was cut short or woken, or is blocked", () => {
  const told = data(story());
  // web/0 has run, was preempted at 1000 and runs again from 1500; batch/0 was woken at 700 and runs from 1000.
  assert.deepEqual(stateAt(told, 500), { running: [0, null], waiting: [], blocked: [] });
  assert.deepEqual(stateAt(told, 800), { running: [0, null], waiting: [1], blocked: [] });
  assert.deepEqual(stateAt(told, 1200), { running: [1, null], waiting: [0, 2], blocked: [] });
  assert.deepEqual(stateAt(told, 2500), { running: [1, null], waiting: [2], blocked: [0] });
  assert.deepEqual(stateAt(told, 2950), { running: [1, null], waiting: [0, 2], blocked: [] });
  // It has left.
  assert.deepEqual(stateAt(told, 4000), { running: [1, null], waiting: [2], blocked: [] });
});

test("a wake-up in the instant in which a task blocks may be of before or of after", () => {
  const tasks = [{ label: "a/0", role: 0 }];
  // Woken at 0, it runs no time and blocks, and is woken again at 100.
  const before = data(pack([[[0, 0, 0, 3], [150, 200, 0, 3]]], [[0, 0, 0, 1], [100, 0, 0, 1]], tasks, ["a"], 300));
  assert.deepEqual(stateAt(before, 50), { running: [null], waiting: [], blocked: [0] });
  assert.deepEqual(stateAt(before, 120), { running: [null], waiting: [0], blocked: [] });
  // It blocks at 50 and is woken at once, but gets a CPU only at 150.
  const at = data(pack([[[0, 50, 0, 3], [150, 200, 0, 3]]], [[50, 0, 0, 1]], tasks, ["a"], 300));
  assert.deepEqual(stateAt(at, 80), { running: [null], waiting: [0], blocked: [] });
});
