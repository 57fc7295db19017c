// tests/e2e/dashboard/actors.test.mjs -- what an operator sees of an actor, how
// it is restarted, and that a refusal stands where the operator looks.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { after, before, describe, it } from "node:test";

import {
  assertClean, Browser, heading, Node, program, until,
} from "./harness.mjs";

let node;
let browser;

before(async () => {
  node = await Node.start({
    "workers": 1,
    "types.GATED.processor": "command",
    "types.GATED.command": program(
      "while [ ! -e whole ]; do sleep 0.1; done; echo '{\"done\": true}'"),
  });
  browser = await Browser.start();
});

after(async () => {
  await browser?.close();
  await node?.close();
});

async function pageAt(address, title) {
  const page = await browser.page(node);
  await page.goto(address);
  await heading(page, title);
  return page;
}

async function details(page, name) {
  await page.getByRole("button", { name, exact: true }).click();
  const dialog = page.getByRole("dialog", { name, exact: true });
  await dialog.waitFor();
  return dialog;
}

async function actor(name) {
  return (await node.get("/api/actors")).actors.find((x) => x.name === name);
}

const restartButton = (dialog) =>
  dialog.getByRole("button", { name: "Restart it" });

// Answers `path` with a 503 until the page is told otherwise.
function refuse(page, path) {
  return page.route(path, (route) => route.fulfill({
    status: 503, contentType: "application/problem+json",
    body: JSON.stringify({ detail: "the database is away" }),
  }));
}

describe("an actor's details", () => {
  it("tell its figures, and offer a restart where there is one", async () => {
    await node.addJob({ type: "GATED", run_at: "2036-01-01T00:00:00Z" });
    const page = await pageAt("/actors", "Actors");
    const offers = {};
    for (const name of ["supervisor", "db", "gateway", "job-1", "executor-1",
                        "query", "scheduler"]) {
      const dialog = await details(page, name);
      await dialog.getByText("Messages", { exact: true }).waitFor();
      offers[name] = await restartButton(dialog).count();
      if (name === "db") {
        await dialog.getByText("Batch p50, p99").waitFor();
        await dialog.getByRole("table", { name: "Times" })
          .getByText("Commit").waitFor();
        await dialog.getByText("with its node only").waitFor();
      }
      await dialog.getByRole("button", { name: "Close" }).click();
      await dialog.waitFor({ state: "detached" });
    }
    assert.deepEqual(offers, {
      supervisor: 0, db: 0, gateway: 0, "executor-1": 0,
      "job-1": 1, query: 1, scheduler: 1,
    });
    await assertClean(page);
    await page.context().close();
  });
});

describe("a restart", () => {
  it("of query is done, told, and kept in its history", async () => {
    const page = await pageAt("/actors", "Actors");
    const dialog = await details(page, "query");
    await restartButton(dialog).click();
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("status").getByText("query starts anew").waitFor();
    await page.getByRole("button", { name: "Dismiss" }).click();
    await page.getByText("query starts anew").waitFor({ state: "detached" });
    assert.equal((await actor("query")).restarts, 1);
    await details(page, "query");
    await dialog.getByRole("heading", { name: "Restarts" }).waitFor();
    assert.equal(await dialog.locator(".rows li").count(), 1);
    // And it answers again.
    await node.get("/api/jobs");
    await assertClean(page);
    await page.context().close();
  });

  it("of a job actor has its job run again", async () => {
    const job = await node.addJob({ type: "GATED" });
    await node.waitForJob(job.id, "PROCESSING");
    const page = await pageAt("/actors", "Actors");
    const row = page.getByRole("row").filter({
      has: page.getByRole("button", { name: "job-1", exact: true }) });
    await row.getByRole("link", { name: "GATED" }).waitFor();
    const dialog = await details(page, "job-1");
    await dialog.getByRole("link", { name: "GATED" }).waitFor();
    await restartButton(dialog).click();
    await page.getByRole("status").getByText("job-1 starts anew").waitFor();
    const attempts = await until("the run to be interrupted", async () => {
      const found = (await node.get(`/api/jobs/${job.id}/attempts`)).attempts;
      return found.length > 0 ? found : null;
    });
    assert.match(JSON.stringify(attempts), /restarted by an operator/);
    await writeFile(`${node.folder}/whole`, "");
    await node.waitForJob(job.id, "COMPLETED");
    await assertClean(page);
    await page.context().close();
  });
});

describe("a refusal", () => {
  // The browser logs each 503 by itself.
  const complaints = (page) => page.complaints.filter(
    (x) => !x.includes("503"));

  it("of a restart stands in the dialog, which stays", async () => {
    const page = await pageAt("/actors", "Actors");
    const path = "**/api/actors/recall/restart";
    await refuse(page, path);
    const dialog = await details(page, "recall");
    await restartButton(dialog).click();
    await dialog.getByRole("alert").getByText("the database is away").waitFor();
    assert.equal((await actor("recall")).restarts, 0);
    await page.unroute(path);
    await restartButton(dialog).click();
    await dialog.waitFor({ state: "detached" });
    assert.equal((await actor("recall")).restarts, 1);
    assert.deepEqual(complaints(page), []);
    await page.context().close();
  });

  it("of a pause does so, and what was written stays", async () => {
    const page = await pageAt("/types", "Types");
    const path = "**/api/types/GATED/pause";
    await refuse(page, path);
    await page.getByRole("button", { name: "Pause GATED" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Why").fill("the moon is full");
    await dialog.getByRole("button", { name: "Pause" }).click();
    await dialog.getByRole("alert").getByText("the database is away").waitFor();
    assert.equal(await dialog.getByLabel("Why").inputValue(),
                 "the moon is full");
    await page.unroute(path);
    await dialog.getByRole("button", { name: "Pause" }).click();
    await dialog.waitFor({ state: "detached" });
    await page.getByText("the moon is full").waitFor();
    assert.deepEqual(complaints(page), []);
    await page.context().close();
  });
});
