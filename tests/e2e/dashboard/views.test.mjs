// tests/e2e/dashboard/views.test.mjs -- each view shows what is there, in every
// size and scheme, whatever strangers wrote.
import assert from "node:assert/strict";
import http from "node:http";
import { after, before, describe, it } from "node:test";

import {
  assertClean, assertFits, Browser, heading, Node, program, screenshot, until,
} from "./harness.mjs";

const hostile = [
  "<script>document.title='owned'</script>",
  "<img src=x onerror=\"document.title='owned'\">",
  "</script><svg/onload=document.title='owned'>",
  "\u202egnp.exe turned \u2066",
  "Z" + "\u0335\u0322\u0321\u0327\u0489".repeat(30) + "algo",
  "\"quoted\" & 'quoted' {{constructor}} ${7*7} javascript:alert(1)",
];
const long = "long".repeat(250);
// As long as the name of a type may be, and nowhere to break it.
const longType = "LONG".repeat(25);

let provider;
let node;
let browser;
const made = {};

// Refuses every key: its lane is paused.
async function startProvider() {
  const server = http.createServer((request, response) => {
    request.resume();
    response.writeHead(401, { "Content-Type": "application/json" });
    response.end('{"error": {"message": "Incorrect API key"}}');
  });
  await new Promise((go) => server.listen(0, "127.0.0.1", go));
  return server;
}

before(async () => {
  provider = await startProvider();
  node = await Node.start({
    "types.LOUD.processor": "command",
    "types.LOUD.command": program("cat >&2; exit 65"),
    [`types.${longType}.processor`]: "command",
    [`types.${longType}.command`]: program("echo 'no way' >&2; exit 65"),
    "types.WAITING.processor": "command",
    "types.WAITING.command": program(
      "echo 'progress 42 half way there' >&2; exec sleep 600"),
    "image.provider": "gemini", "image.api-key": "k",
    "image.url": `http://127.0.0.1:${provider.address().port}`,
  });
  browser = await Browser.start();
  const scrap = await node.post("/api/scraps", {
    title: hostile[0],
    content: `Salt is won from the sea. ${hostile.join(". ")}. The sun does `
      + "the work, and salt stays behind in shallow ponds.",
  });
  made.card = (await node.waitForJob(scrap.job_id, "COMPLETED")).result.card_id;
  const bad = await node.addJob({
    type: "LOUD", target_id: hostile.filter((_, i) => i !== 4).join(" "), user_id: hostile[1],
    payload: { text: hostile.join(" "), [hostile[0]]: long },
  });
  await node.waitForJob(bad.id, "FAILED");
  made.failed = bad.id;
  await node.addJob({ type: "LOUD", target_id: long.slice(0, 500),
                      payload: { text: long } });
  made.longType = (await node.addJob({ type: longType })).id;
  await node.waitForJob(made.longType, "FAILED");
  made.running = (await node.addJob({ type: "WAITING" })).id;
  await node.run("accounts", "grant", "local", "100");
  const book = await node.post("/api/generate", {
    title: hostile[2], prompt: hostile.join(" "), pages: 2 });
  made.book = book.content_id;
  await until("the lane to be paused", async () =>
    (await node.get("/api/providers")).providers.some(
      (x) => x.state === "paused"));
});

after(async () => {
  await browser?.close();
  await node?.close();
  provider?.close();
});

// Address, heading, and a text that only the loaded view has.
const views = () => [
  ["overview", "/", "Overview", "By type and status"],
  ["jobs", "/jobs", "Jobs", "LOUD"],
  ["job-failed", `/jobs/${made.failed}`, "LOUD", "Run 1"],
  ["job-running", `/jobs/${made.running}`, "WAITING", "half way there"],
  ["job-long-type", `/jobs/${made.longType}`, longType, "Run 1"],
  ["jobs-long-type", `/jobs?type=${longType}`, "Jobs", "no way"],
  ["failures", "/failures", "Failures", "newest job"],
  ["types", "/types", "Types", "Time limit"],
  ["providers", "/providers", "Providers", "In flight"],
  ["actors", "/actors", "Actors", "supervisor"],
  ["books", "/books", "Books", "of 2 pages"],
  ["book", `/books/${made.book}`, null, "Prompt:"],
  ["cards", "/cards", "Cards", "Salt"],
  ["card", `/cards/${made.card}`, "Card", "dimensions"],
  ["nowhere", "/jobs/a/b/c", "Not found", "There is no such view"],
];

async function open(page, [, address, title, text]) {
  await page.goto(address);
  if (title)
    await heading(page, title);
  await page.locator("main").getByText(text).filter({ visible: true }).first()
    .waitFor();
}

for (const [name, options] of [
  ["wide and light", { colorScheme: "light" }],
  ["400 pixels and dark", {
    colorScheme: "dark", viewport: { width: 400, height: 800 } }],
])
  describe(`each view, ${name}`, () => {
    it("shows its data, fits, and the browser has nothing to complain of",
       async () => {
      const page = await browser.page(node, options);
      for (const view of views()) {
        await open(page, view);
        await assertFits(page);
        await screenshot(page, `${view[0]}-${name.replaceAll(" ", "-")}`);
        assert.notEqual(await page.title(), "owned");
        assert.match(await page.title(), /Reeve$/);
        assert.equal(await page.locator("main h1").count(), 1);
      }
      const ground = await page.evaluate(() =>
        getComputedStyle(document.documentElement).backgroundColor);
      const [red] = ground.match(/\d+/g).map(Number);
      assert.equal(red < 128, options.colorScheme === "dark", ground);
      await assertClean(page);
      await page.context().close();
    });
  });

describe("a type with a long name", () => {
  it("leaves the figures beside it in sight", async () => {
    const page = await browser.page(node, {
      viewport: { width: 1280, height: 900 } });
    await open(page, views()[0]);
    const table = page.locator(".scroll");
    await table.getByText(longType).waitFor();
    const [wide, seen] = await table.evaluate((x) =>
      [x.scrollWidth, x.clientWidth]);
    assert.ok(wide <= seen, `the table is ${wide} wide in ${seen}`);
    // A name of the usual length stays in one line.
    assert.equal(await table.getByRole("link", { name: "WAITING" }).first()
      .evaluate((x) => x.firstElementChild.getClientRects().length), 1);
    await assertClean(page);
    await page.context().close();
  });
});

describe("the menu of a narrow window", () => {
  it("closes with Escape, and the keyboard is back at its button", async () => {
    const page = await browser.page(node, {
      viewport: { width: 400, height: 800 } });
    await open(page, views()[0]);
    const menu = page.getByRole("button", { name: "Menu" });
    const entry = page.getByRole("link", { name: "Providers" }).first();
    await menu.press("Enter");
    await entry.waitFor();
    await entry.focus();
    await page.keyboard.press("Escape");
    await entry.waitFor({ state: "hidden" });
    assert.equal(await menu.getAttribute("aria-expanded"), "false");
    assert.equal(await page.evaluate(() =>
      document.activeElement.textContent), "Menu");
    await assertClean(page);
    await page.context().close();
  });
});

describe("texts of strangers", () => {
  it("are shown as they are, and stay in their boxes", async () => {
    const page = await browser.page(node);
    await open(page, views()[2]);
    const main = page.locator("main");
    for (const text of [hostile[0], hostile[1], hostile[2], hostile[5]])
      assert.ok((await main.innerText()).includes(text), text);
    // What turns the direction is spelled out.
    assert.ok((await main.innerText()).includes("\\u202egnp.exe"));
    assert.equal(await page.locator("main script, main img").count(), 0);
    // Every one is isolated from the text around it.
    const loose = await page.evaluate((marks) => {
      const walker = document.createTreeWalker(
        document.getElementById("main"), NodeFilter.SHOW_TEXT);
      const result = [];
      while (walker.nextNode())
        if (marks.some((x) => walker.currentNode.data.includes(x))
            && !walker.currentNode.parentElement.closest("bdi"))
          result.push(walker.currentNode.data);
      return result;
    }, ["owned", "algo", "gnp.exe"]);
    assert.deepEqual(loose, []);
    await assertClean(page);
    await page.context().close();
  });
});

describe("the theme", () => {
  it("follows the switch, and is kept", async () => {
    const page = await browser.page(node, { colorScheme: "light" });
    const scheme = () => page.evaluate(() =>
      getComputedStyle(document.documentElement).colorScheme);
    await open(page, views()[0]);
    assert.equal(await scheme(), "light");
    await page.getByLabel("Theme").selectOption("dark");
    assert.equal(await scheme(), "dark");
    await page.reload();
    await heading(page, "Overview");
    assert.equal(await scheme(), "dark");
    await page.getByLabel("Theme").selectOption("system");
    assert.equal(await scheme(), "light");
    await assertClean(page);
    await page.context().close();
  });
});

describe("the keyboard alone", () => {
  it("reaches and works everything", async () => {
    const page = await browser.page(node);
    const focused = () => page.evaluate(() =>
      document.activeElement.textContent.trim());
    await open(page, views()[0]);
    await page.keyboard.press("Tab");
    assert.equal(await focused(), "Skip to content");
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate(() => document.activeElement.id), "main");
    // From the top to the types, by the navigation.
    await page.goto("/");
    await heading(page, "Overview");
    const tabTo = async (name) => {
      for (let i = 0; i < 60; ++i) {
        await page.keyboard.press("Tab");
        const found = await page.evaluate(() => [
          document.activeElement.textContent.trim(),
          document.activeElement.getAttribute("aria-label"),
          getComputedStyle(document.activeElement).outlineStyle]);
        if (found[0] === name || found[1] === name) {
          assert.notEqual(found[2], "none", `${name} shows no focus`);
          return;
        }
      }
      throw new Error(`no way to ${name} by Tab`);
    };
    await tabTo("Types");
    await page.keyboard.press("Enter");
    await heading(page, "Types");
    // The dialog takes the focus, and gives it back.
    await tabTo("Pause LOUD");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.type("by hand");
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.type("by keyboard");
    await page.keyboard.press("Enter");
    await page.getByText("by keyboard").waitFor();
    await tabTo("Resume LOUD");
    await page.keyboard.press("Enter");
    await page.getByText("by keyboard").waitFor({ state: "detached" });
    await assertClean(page);
    await page.context().close();
  });
});
