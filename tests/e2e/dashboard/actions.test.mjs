// tests/e2e/dashboard/actions.test.mjs -- what an operator does, and what
// happens to the page without anybody touching it.
import assert from "node:assert/strict";
import http from "node:http";
import { after, before, describe, it } from "node:test";

import {
  assertClean, Browser, heading, Node, program, until,
} from "./harness.mjs";

let provider;
let node;
let browser;

before(async () => {
  provider = http.createServer((request, response) => {
    request.resume();
    response.writeHead(401, { "Content-Type": "application/json" });
    response.end('{"error": {"message": "Incorrect API key"}}');
  });
  await new Promise((go) => provider.listen(0, "127.0.0.1", go));
  node = await Node.start({
    "workers": 2,
    // Runs until the file is there, in the node's own folder.
    "types.GATED.processor": "command",
    "types.GATED.command": program(
      "echo 'progress 25 first quarter' >&2; "
      + "while [ ! -e half ]; do sleep 0.1; done; "
      + "echo 'progress 75 third quarter' >&2; "
      + "while [ ! -e whole ]; do sleep 0.1; done; echo '{\"done\": true}'"),
    "types.FLAKY.processor": "command",
    "types.FLAKY.command": program(
      "[ -e mended ] && exit 0; echo 'no route to host 10.1.2.3' >&2; exit 65"),
    "text.provider": "openai-compatible", "text.model": "m",
    "text.url": `http://127.0.0.1:${provider.address().port}`,
  });
  browser = await Browser.start();
});

after(async () => {
  await browser?.close();
  await node?.close();
  provider?.close();
});

async function touch(name) {
  const { writeFile } = await import("node:fs/promises");
  await writeFile(`${node.folder}/${name}`, "");
}

async function pageAt(address, title) {
  const page = await browser.page(node);
  await page.goto(address);
  await heading(page, title);
  // A mark that a reload would wipe away.
  await page.evaluate(() => { window.sameDocument = true; });
  return page;
}

async function finish(page) {
  assert.equal(await page.evaluate(() => window.sameDocument), true,
               "the page was loaded anew");
  await assertClean(page);
  await page.context().close();
}

describe("a job's page", () => {
  it("follows progress to the end", async () => {
    const job = await node.addJob({ type: "GATED", target_id: "live" });
    const page = await pageAt(`/jobs/${job.id}`, "GATED");
    await page.getByText("first quarter").waitFor();
    const bar = page.getByRole("progressbar", { name: "Progress" });
    assert.equal(await bar.getAttribute("aria-valuenow"), "25");
    await touch("half");
    await page.getByText("third quarter").waitFor();
    assert.equal(await bar.getAttribute("aria-valuenow"), "75");
    await touch("whole");
    await page.locator(".state").getByText("Completed").waitFor();
    await page.getByText('"done": true').waitFor();
    await finish(page);
  });

  it("retries a failed job and shows both runs", async () => {
    const job = await node.addJob({ type: "FLAKY", target_id: "one" });
    await node.waitForJob(job.id, "FAILED");
    const page = await pageAt(`/jobs/${job.id}`, "FLAKY");
    await page.getByText("no route to host").first().waitFor();
    await page.getByRole("button", { name: "Retry" }).click();
    await page.getByRole("status").getByText("runs again").waitFor();
    await page.getByText("Run 2", { exact: true }).waitFor();
    assert.equal((await node.get(`/api/jobs/${job.id}/attempts`))
      .attempts.length, 2);
    // Somebody else retries it: the finished job's page sees that, too.
    await node.waitForJob(job.id, "FAILED");
    await node.post(`/api/jobs/${job.id}/retry`);
    await page.getByText("Run 3", { exact: true }).waitFor();
    await finish(page);
  });

  it("explains why a job waits, and cancels it", async () => {
    const job = await node.addJob({
      type: "FLAKY", run_at: new Date(Date.now() + 3_600_000).toISOString() });
    const page = await pageAt(`/jobs/${job.id}`, "FLAKY");
    await page.getByText("Why it waits:").waitFor();
    await page.getByRole("button", { name: "Cancel" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Keep it" }).click();
    assert.equal((await node.get(`/api/jobs/${job.id}`)).status, "PENDING");
    await page.getByRole("button", { name: "Cancel" }).click();
    await dialog.getByRole("button", { name: "Cancel the job" }).click();
    await page.locator(".state").getByText("Cancelled").waitFor();
    assert.equal((await node.get(`/api/jobs/${job.id}`)).status, "CANCELLED");
    await finish(page);
  });

  it("says so when there is no such job", async () => {
    const page = await browser.page(node);
    await page.goto("/jobs/01900000-0000-7000-8000-000000000000");
    await page.getByRole("alert").getByText("nothing with this id").waitFor();
    // The browser logs the 404 by itself.
    assert.equal(page.complaints.length, 1, page.complaints.join());
    await page.context().close();
  });
});

describe("lists", () => {
  it("see new jobs and their states come in", async () => {
    const page = await pageAt("/jobs?type=FLAKY&status=FAILED", "Jobs");
    const job = await node.addJob({ type: "FLAKY", target_id: "seen-live" });
    await page.getByText("seen-live").waitFor();
    await page.getByRole("link", { name: `FLAKY, job ${job.id}` }).click();
    await heading(page, "FLAKY");
    await page.goBack();
    await heading(page, "Jobs");
    assert.match(page.url(), /status=FAILED/);
    await finish(page);
  });

  it("filter by what the address says and the form sets", async () => {
    const page = await pageAt("/jobs", "Jobs");
    await page.getByLabel("Target").fill("seen-live");
    await page.getByRole("button", { name: "Apply" }).click();
    await until("one row", async () =>
      await page.locator("table.jobs tbody tr").count() === 1);
    assert.match(page.url(), /target_id=seen-live/);
    await page.getByLabel("Error like").fill("%nothing like it%");
    await page.getByRole("button", { name: "Apply" }).click();
    await page.getByText("No job fits").waitFor();
    await page.getByRole("button", { name: "Clear" }).click();
    await until("many rows", async () =>
      await page.locator("table.jobs tbody tr").count() > 1);
    await finish(page);
  });
});

describe("the overview", () => {
  it("counts on without anybody touching it", async () => {
    const page = await pageAt("/", "Overview");
    const failed = page.getByRole("link", { name: /^Failed: / });
    const before = Number(await failed.innerText());
    await node.addJob({ type: "FLAKY", target_id: "counted" });
    await until("the count to grow", async () =>
      Number(await failed.innerText()) === before + 1);
    await page.getByText("no route to host").waitFor();
    assert.equal(await page.locator("canvas").count(), 3);
    await finish(page);
  });
});

describe("failures that take the place of others", () => {
  // As many as before: what has changed is not the count.
  it("are looked at, too", async () => {
    const job = await node.addJob({ type: "FLAKY", target_id: "again" });
    await node.waitForJob(job.id, "FAILED");
    const page = await pageAt("/failures", "Failures");
    await page.getByText("no route to host").waitFor();
    for (let i = 0; i < 5; ++i) {
      const asked = page.waitForRequest((x) => x.url().includes("/api/errors"));
      await node.post(`/api/jobs/${job.id}/retry`, {});
      await node.waitForJob(job.id, "FAILED");
      await asked;
    }
    await finish(page);
  });
});

describe("failures", () => {
  it("are looked at and retried by group", async () => {
    for (let i = 0; i < 12; ++i)
      await node.waitForJob(
        (await node.addJob({ type: "FLAKY", target_id: `g${i}` })).id, "FAILED");
    const failed = (await node.get("/api/stats")).jobs.FAILED;
    await node.post("/api/types/FLAKY/pause", {});
    const page = await pageAt("/failures", "Failures");
    await page.getByText("no route to host").waitFor();
    await page.getByRole("button", { name: `Dry run for ${failed} jobs` })
      .click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText(`${failed} jobs`, { exact: true }).waitFor();
    assert.equal(await dialog.locator(".sample li").count(), 10);
    // Nothing has happened yet.
    assert.equal((await node.get("/api/stats")).jobs.FAILED, failed);
    await dialog.getByRole("button", { name: `Retry ${failed} jobs` }).click();
    await page.getByRole("status").getByText("will run again").waitFor();
    await page.getByText("No failures").waitFor();
    assert.equal((await node.get("/api/stats")).jobs.FAILED, 0);
    // They fail anew, and the view hears of it.
    await node.post("/api/types/FLAKY/resume", {});
    await page.getByText("no route to host").waitFor();
    await until("all to have failed", async () =>
      (await node.get("/api/stats")).jobs.FAILED === failed);
    // By a pattern.
    await touch("mended");
    await page.getByLabel("Retry all whose error is like").fill("%no route%");
    await page.getByRole("button", { name: "Dry run", exact: true }).click();
    await dialog.getByRole("button", { name: `Retry ${failed} jobs` }).click();
    await page.getByText("No failures").waitFor();
    await until("all to be mended", async () =>
      (await node.get("/api/stats")).by_type.FLAKY.COMPLETED === failed);
    await finish(page);
  });
});

describe("types and providers", () => {
  it("are paused and resumed, by whom ever", async () => {
    const page = await pageAt("/types", "Types");
    await page.getByRole("button", { name: "Pause GATED" }).click();
    await page.getByLabel("Why").fill("the moon is full");
    await page.getByRole("dialog").getByRole("button", { name: "Pause" })
      .click();
    await page.getByText("the moon is full").waitFor();
    const state = async () => (await node.get("/api/types")).types.find(
      (x) => x.type === "GATED");
    assert.equal((await state()).reason, "the moon is full");
    await page.getByRole("button", { name: "Resume GATED" }).click();
    await page.getByRole("button", { name: "Pause GATED" }).waitFor();
    assert.equal((await state()).paused, false);
    await node.post("/api/types/GATED/pause", { reason: "from elsewhere" });
    await page.getByText("from elsewhere").waitFor();
    await node.post("/api/types/GATED/resume", {});
    await page.getByRole("button", { name: "Pause GATED" }).waitFor();
    await finish(page);
  });

  it("shows a lane that pauses, and opens it", async () => {
    const page = await pageAt("/providers", "Providers");
    await page.getByText("openai-compatible/m").waitFor();
    await page.getByText("Open", { exact: true }).first().waitFor();
    await node.run("accounts", "grant", "local", "100");
    await node.post("/api/generate",
                    { title: "A", prompt: "a cat", pages: 1 });
    await page.getByText("check the configured API key").waitFor();
    const calls = async () => (await node.get("/api/providers"))
      .providers.find((x) => x.name === "openai-compatible/m").calls;
    const before = await calls();
    await page.getByRole("button", { name: "Resume openai-compatible/m" })
      .click();
    await page.getByRole("status").getByText("is open again").waitFor();
    // It tries once more, and is refused once more.
    await until("another call", async () => await calls() > before);
    await finish(page);
  });
});

describe("a node that goes away", () => {
  it("is missed, and found again", async () => {
    const own = await Node.start({
      "types.WAITING.processor": "command",
      "types.WAITING.command": program("exec sleep 600"),
    });
    try {
      const job = await own.addJob({
        type: "WAITING", run_at: "2036-01-01T00:00:00Z" });
      const page = await browser.page(own);
      await page.goto(`/jobs/${job.id}`);
      await heading(page, "WAITING");
      await page.evaluate(() => { window.sameDocument = true; });
      await page.locator(".connection").getByText("Live").waitFor();
      await own.kill();
      await page.locator(".connection").getByText("Reconnecting").waitFor();
      await own.start();
      await page.locator(".connection").getByText("Live").waitFor();
      // And the job is followed again.
      await own.post(`/api/jobs/${job.id}/cancel`);
      await page.locator(".state").getByText("Cancelled").waitFor();
      assert.equal(await page.evaluate(() => window.sameDocument), true);
      // The browser notes each connection that it could not make.
      assert.deepEqual(page.complaints.filter(
        (x) => !/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET/.test(x)), []);
      await page.context().close();
    } finally {
      await own.close();
    }
  });
});
