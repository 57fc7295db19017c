// tests/e2e/dashboard/scale.test.mjs -- 100,000 jobs are no more work for the
// page than fifty; and books with their pictures.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import {
  assertClean, Browser, heading, Node, screenshot, until,
} from "./harness.mjs";

const many = 100_000;

let node;
let browser;

before(async () => {
  node = await Node.start();
  browser = await Browser.start();
});

after(async () => {
  await browser?.close();
  await node?.close();
});

describe("100,000 jobs", () => {
  it("are paged by key, and the page stays small", async () => {
    await node.post("/api/types/CARD_ANALYSIS/pause", {});
    for (let i = 0; i < many; i += 1000)
      await node.post("/api/jobs/batch", {
        jobs: Array.from({ length: 1000 }, (_, j) => ({
          type: "CARD_ANALYSIS", target_id: `target-${i + j}` })),
      });
    const page = await browser.page(node);
    await page.goto("/jobs");
    await heading(page, "Jobs");
    await page.getByText("100,000").first().waitFor();
    const rows = page.locator("table.jobs tbody tr");
    const size = () => page.evaluate(() =>
      document.getElementsByTagName("*").length);
    await page.getByText(`target-${many - 1}`, { exact: true }).waitFor();
    assert.equal(await rows.count(), 50);
    const first = await size();
    assert.ok(first < 3000, `${first} elements`);
    // Ten pages on, each the next 50.
    for (let n = 1; n <= 10; ++n) {
      await page.getByRole("button", { name: "Older" }).click();
      await page.getByText(`target-${many - 1 - 50 * n}`, { exact: true })
        .waitFor();
      assert.equal(await rows.count(), 50);
    }
    assert.ok(await size() < first + 50);
    await page.getByRole("button", { name: "Newer" }).click();
    await page.getByText(`target-${many - 1 - 50 * 9}`, { exact: true })
      .waitFor();
    // A page is an address.
    await page.reload();
    await page.getByText(`target-${many - 1 - 50 * 9}`, { exact: true })
      .waitFor();
    await page.getByRole("button", { name: "Newest" }).click();
    await page.getByText(`target-${many - 1}`, { exact: true }).waitFor();
    // A long way down by one click.
    await page.getByLabel("Target").fill("target-17");
    await page.getByRole("button", { name: "Apply" }).click();
    await until("one row", async () => await rows.count() === 1);
    await page.goto("/");
    await page.getByText("100,000").first().waitFor();
    assert.ok(await size() < 1500);
    await assertClean(page);
    await page.context().close();
  });
});

describe("books", () => {
  it("come in with their pictures", async () => {
    const page = await browser.page(node);
    await page.goto("/books");
    await page.getByText("No books yet").waitFor();
    await node.run("accounts", "grant", "local", "100");
    const made = await node.post("/api/generate", {
      title: "The Lighthouse Cat", prompt: "a cat who keeps the light on",
      pages: 3 });
    await page.getByText("The Lighthouse Cat").waitFor();
    await node.waitForJob(made.job_id, "COMPLETED");
    await page.getByText("3 of 3 pages").waitFor();
    await page.getByRole("link", { name: "The Lighthouse Cat" }).click();
    await heading(page, "The Lighthouse Cat");
    const drawn = () => page.evaluate(() => [...document.querySelectorAll(
      "img.picture")].filter((x) => x.complete && x.naturalWidth > 0).length);
    await until("three pictures", async () => await drawn() === 3);
    await screenshot(page, "book-drawn");
    await assertClean(page);
    await page.context().close();
  });
});
