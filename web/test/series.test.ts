// series.test.ts -- rates from counts, and the tree from a list.
import assert from "node:assert/strict";
import { test } from "node:test";

import type { Sample } from "../src/live";
import { columnsOf, latest, rateOf } from "../src/series";
import { treeOf } from "../src/tree";

function sample(second: number, completed: number, pending = 0): Sample {
  return {
    at: second * 1000, oldestDue: null,
    types: { A: { COMPLETED: completed, PENDING: pending }, B: { FAILED: 1 } },
  };
}

test("a rate is that of the last minute", () => {
  const steady = Array.from({ length: 13 }, (_, i) => sample(i * 10, i * 5));
  const columns = columnsOf(steady, "");
  assert.equal(columns.completed[0], null);
  assert.equal(columns.completed[1], 30);
  assert.equal(latest(columns.completed), 30);
  assert.equal(latest(columns.added), 30);
  assert.equal(latest(columns.failed), 0);
  assert.equal(columns.at[12], 120);
  // What stood still for a minute is 0, however much came before.
  const still = [...steady, ...Array.from(
    { length: 7 }, (_, i) => sample(130 + i * 10, 60))];
  assert.equal(latest(columnsOf(still, "").completed), 0);
});

test("fewer than before is no negative rate", () => {
  const columns = columnsOf([sample(0, 100), sample(10, 40)], "");
  assert.equal(latest(columns.completed), 0);
});

test("one type is counted alone", () => {
  const list = [sample(0, 0, 3), sample(10, 1, 2)];
  assert.deepEqual(columnsOf(list, "A").waiting, [3, 2]);
  assert.deepEqual(columnsOf(list, "B").waiting, [0, 0]);
  assert.equal(rateOf(list, "A"), 6);
  assert.equal(rateOf(list, "B"), 0);
  assert.equal(rateOf([], "A"), null);
  assert.deepEqual(columnsOf(list, "gone").completed, [null, 0]);
  assert.deepEqual(columnsOf([], "").at, []);
});

test("children stand below their parents, and nobody is lost", () => {
  const list = [
    { name: "job-1", parent: "supervisor" },
    { name: "supervisor", parent: null },
    { name: "executor-1", parent: "job-1" },
    { name: "job-2", parent: "supervisor" },
    { name: "orphan", parent: "gone" },
    { name: "x", parent: "y" }, { name: "y", parent: "x" },
    { name: "self", parent: "self" },
  ];
  assert.deepEqual(
    treeOf(list).map(({ actor, depth }) => [actor.name, depth]), [
      ["supervisor", 0], ["job-1", 1], ["executor-1", 2], ["job-2", 1],
      ["orphan", 0], ["self", 0], ["x", 0], ["y", 1],
    ]);
});
