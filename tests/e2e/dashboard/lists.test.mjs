// tests/e2e/dashboard/lists.test.mjs -- the keyboard keeps its place while a
// list changes, and a list's span of time moves on, but not under a retry.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import {
  assertClean, Browser, heading, Node, program, until,
} from "./harness.mjs";

let node;
let browser;

before(async () => {
  node = await Node.start({
    "types.FLAKY.processor": "command",
    "types.FLAKY.command": program("echo 'no route to host' >&2; exit 65"),
    "types.RESTING.processor": "command",
    "types.RESTING.command": program("exit 0"),
  });
  browser = await Browser.start();
  await node.post("/api/types/RESTING/pause", {});
  await node.post("/api/jobs/batch", {
    jobs: Array.from({ length: 120 }, (_, i) => ({
      type: "RESTING", target_id: `target-${i}` })),
  });
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

// What has the keyboard: its name, or what it is.
const place = (page) => page.evaluate(() => {
  const x = document.activeElement;
  return x.getAttribute("name") ?? x.getAttribute("aria-label")
    ?? (x.textContent.trim().slice(0, 20) || x.tagName);
});

describe("the keyboard in the list of jobs", () => {
  it("stays in the filters that it sets and clears", async () => {
    const page = await pageAt("/jobs", "Jobs");
    const rows = page.locator("table.jobs tbody tr");
    await page.getByLabel("Target").fill(" target-17 ");
    await page.keyboard.press("Enter");
    await until("one row", async () => await rows.count() === 1);
    assert.equal(await place(page), "target_id");
    // Half a word in another field outlives the change of address.
    await page.getByLabel("User").fill("an");
    await page.getByLabel("Type").focus();
    await page.getByLabel("Type").selectOption("RESTING");
    await page.waitForURL(/type=RESTING/);
    assert.equal(await place(page), "type");
    assert.match(page.url(), /user_id=an/);
    await page.getByText("No job fits").waitFor();
    await page.goBack();
    await until("one row again", async () => await rows.count() === 1);
    assert.equal(await page.getByLabel("User").inputValue(), "");
    assert.equal(await page.getByLabel("Type").inputValue(), "");
    assert.equal(await page.getByLabel("Target").inputValue(), "target-17");
    await page.getByLabel("Error like").fill("%half");
    await page.getByRole("button", { name: "Clear" }).press("Enter");
    await until("many rows", async () => await rows.count() === 50);
    assert.equal(await place(page), "type");
    for (const field of ["Target", "Error like"])
      assert.equal(await page.getByLabel(field).inputValue(), "");
    await assertClean(page);
    await page.context().close();
  });

  it("goes on at the table when a page is turned", async () => {
    const page = await pageAt("/jobs?type=RESTING", "Jobs");
    const first = (n) => page.locator("table.jobs")
      .getByText(`target-${n}`, { exact: true }).waitFor();
    await first(119);
    for (const [button, n] of [["Older", 69], ["Older", 19], ["Newer", 69],
                               ["Newer", 119], ["Older", 69],
                               ["Newest", 119]]) {
      await page.getByRole("button", { name: button }).press("Enter");
      await first(n);
      assert.equal(await place(page), "Jobs, newest first", button);
    }
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() =>
      document.activeElement.closest("table")?.className), "jobs");
    await assertClean(page);
    await page.context().close();
  });
});

describe("the search of cards", () => {
  it("finds what is similar, and keeps the keyboard", async () => {
    for (const content of ["Salt is won from the sea by letting the sun work.",
                           "A cat sleeps for most of the day."])
      await node.waitForJob((await node.post("/api/scraps", { content })).job_id,
                            "COMPLETED");
    const page = await pageAt("/cards", "Cards");
    const items = page.locator(".card-item");
    await until("both cards", async () => await items.count() === 2);
    assert.equal(await page.locator(".similarity").count(), 0);
    await page.getByLabel("Similar to").fill("salt from the sea");
    await page.keyboard.press("Enter");
    await page.locator(".similarity").first().waitFor();
    assert.match(await items.first().innerText(), /Salt/);
    assert.match(page.url(), /q=salt/);
    assert.equal(await place(page), "q");
    await page.getByRole("button", { name: "Clear" }).press("Enter");
    await until("no similarity", async () =>
      await page.locator(".similarity").count() === 0);
    assert.equal(await items.count(), 2);
    assert.equal(await place(page), "q");
    assert.equal(await page.getByLabel("Similar to").inputValue(), "");
    await assertClean(page);
    await page.context().close();
  });
});

describe("the last hour of failures", () => {
  const fail = async () => {
    const { id } = await node.addJob({ type: "FLAKY" });
    await node.waitForJob(id, "FAILED");
    return id;
  };
  const runs = async (id) =>
    (await node.get(`/api/jobs/${id}/attempts`)).attempts.length;

  it("stands still from the dry run to the retry", async () => {
    const shown = [await fail(), await fail()];
    const page = await pageAt("/failures?since=1h", "Failures");
    const bodies = [];
    page.on("request", (x) => {
      if (x.url().endsWith("/api/jobs/retry"))
        bodies.push(x.postDataJSON());
    });
    await page.getByRole("button", { name: "Dry run for 2 jobs" }).click();
    const dialog = page.getByRole("dialog");
    const deed = dialog.getByRole("button", { name: "Retry 2 jobs" });
    await deed.waitFor();
    const late = await fail();
    await deed.click();
    await dialog.waitFor({ state: "detached" });
    await until("both to have run again", async () =>
      (await Promise.all(shown.map(runs))).every((x) => x === 2));
    assert.equal(await runs(late), 1);
    assert.equal(bodies.length, 2);
    const { dry_run, ...selection } = bodies[0];
    assert.equal(dry_run, true);
    assert.deepEqual(selection, bodies[1]);
    assert.ok(Date.parse(selection.from) < Date.parse(selection.to));
    await assertClean(page);
    await page.context().close();
  });

  it("moves on with the node's time", async () => {
    const page = await browser.page(node);
    const begins = [];
    let ahead = 0;
    await page.route("**/api/errors?*", async (route) => {
      begins.push(Date.parse(
        new URL(route.request().url()).searchParams.get("from")));
      const response = await route.fetch();
      await route.fulfill({ response, headers: {
        ...response.headers(),
        date: new Date(Date.now() + ahead).toUTCString() } });
    });
    await page.goto("/failures?since=1h");
    await page.getByText("no route to host").waitFor();
    const first = begins[0];
    assert.ok(Math.abs(Date.now() - 3_600_000 - first) < 120_000);
    ahead = 10 * 60_000;
    await fail();
    await until("a later begin", () =>
      begins.some((x) => x - first >= 9 * 60_000));
    await assertClean(page);
    // The list looks again all the time: perhaps it is just being answered.
    await page.unrouteAll({ behavior: "wait" });
    await page.context().close();
  });
});
