// tests/e2e/dashboard/keys.test.mjs -- the files as they are sent, and signing
// in with a key.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import http from "node:http";

import { Browser, heading, Node, until } from "./harness.mjs";

let node;
let browser;
const keys = {};

before(async () => {
  node = new Node({ "auth.mode": "api-key" });
  for (const [name, words] of [
    ["operator", ["--role=operator", "--name=op"]],
    ["client", ["--role=client", "--name=cl", "--user=ann"]],
  ])
    keys[name] = (await node.run("keys", "create", ...words)).trim();
  await node.start();
  browser = await Browser.start();
});

after(async () => {
  await browser?.close();
  await node?.close();
});

// fetch() would undo the coding.
function fetchRaw(path, headers = {}, method = "GET") {
  return new Promise((resolve, reject) => {
    http.request(node.url + path, { method, headers }, (response) => {
      const chunks = [];
      response.on("data", (x) => chunks.push(x));
      response.on("end", () => resolve({
        status: response.statusCode, headers: response.headers,
        body: Buffer.concat(chunks) }));
    }).on("error", reject).end();
  });
}

describe("the files", () => {
  it("are there without a key, for every view's address", async () => {
    for (const path of ["/", "/jobs", "/jobs/x", "/actors?y=1"]) {
      const page = await fetchRaw(path);
      assert.equal(page.status, 200);
      assert.equal(page.headers["content-type"], "text/html; charset=utf-8");
      assert.equal(page.headers["cache-control"], "no-cache");
      assert.match(page.body.toString(), /<div id="app">/);
    }
    assert.equal((await fetchRaw("/", {}, "POST")).status, 405);
    assert.equal((await fetchRaw("/", {}, "HEAD")).body.length, 0);
    assert.equal((await fetchRaw("/assets/none.js")).status, 404);
    for (const path of ["/nowhere", "/api/jobs", "/api/stats/events",
                        "/api/contents", "/api/cards"])
      assert.equal((await fetchRaw(path)).status, 401, path);
  });

  it("allow the page nothing but its own node", async () => {
    const { headers } = await fetchRaw("/");
    const policy = headers["content-security-policy"];
    assert.match(policy, /default-src 'none'/);
    assert.doesNotMatch(policy, /unsafe|\*|https?:/);
    assert.equal(headers["x-content-type-options"], "nosniff");
    assert.equal(headers["referrer-policy"], "no-referrer");
  });

  it("come in the form that is asked for, each with its own ETag", async () => {
    const page = (await fetchRaw("/")).body.toString();
    const assets = [...page.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)]
      .map((x) => x[1]);
    assert.equal(assets.length, 6, page);
    for (const path of assets) {
      const plain = await fetchRaw(path);
      assert.equal(plain.status, 200, path);
      assert.equal(plain.headers["cache-control"],
                   "public, max-age=31536000, immutable");
      assert.equal(plain.headers["content-encoding"], undefined);
      const again = await fetchRaw(path, {
        "If-None-Match": plain.headers["etag"] });
      assert.equal(again.status, 304);
      if (!/\/app-/.test(path))
        continue;
      const br = await fetchRaw(path, { "Accept-Encoding": "gzip, br" });
      assert.equal(br.headers["content-encoding"], "br");
      assert.deepEqual(brotliDecompressSync(br.body), plain.body);
      const gz = await fetchRaw(path, {
        "Accept-Encoding": "br;q=0, GZIP;q=0.5" });
      assert.equal(gz.headers["content-encoding"], "gzip");
      assert.deepEqual(gunzipSync(gz.body), plain.body);
      assert.equal(new Set([plain, br, gz].map((x) => x.headers.etag)).size, 3);
      assert.ok(br.body.length < plain.body.length / 2);
    }
  });
});

describe("what is bundled", () => {
  it("comes with its licences", async () => {
    const page = (await fetchRaw("/")).body.toString();
    const [, path] = /rel="license" href="([^"]+)"/.exec(page);
    const { headers, body } = await fetchRaw(path);
    assert.equal(headers["content-type"], "text/plain; charset=utf-8");
    const text = body.toString();
    for (const name of ["preact", "@preact/signals", "uplot",
                        "@fontsource-variable/inter"])
      assert.match(text, new RegExp(`^== ${name} [0-9.]+ \\(`, "m"));
    assert.match(text, /MIT License/);
    assert.match(text, /SIL OPEN FONT LICENSE/);
  });
});

describe("a key", () => {
  it("is asked for, kept in this tab, and forgotten", async () => {
    const page = await browser.page(node);
    await page.goto("/jobs");
    await heading(page, "Sign in");
    await page.getByLabel("API key").fill("not-a-key");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").getByText("not valid").waitFor();
    await page.getByLabel("API key").fill(keys.operator);
    await page.keyboard.press("Enter");
    await heading(page, "Jobs");
    await page.locator(".connection").getByText("Live").waitFor();
    const headers = { Authorization: `Bearer ${keys.operator}` };
    await node.request("POST", "/api/scraps", {
      content: "Salt is won from the sea by letting the sun work." }, headers);
    await page.getByText("Completed", { exact: true }).last().waitFor();
    // Pictures take the key, too.
    await node.run("accounts", "grant", "local", "100");
    const book = await node.request("POST", "/api/generate", {
      title: "A cat", prompt: "a cat", pages: 1 }, headers);
    await page.goto(`/books/${book.content_id}`);
    await until("the picture", () => page.evaluate(() =>
      (document.querySelector("img.picture")?.naturalWidth ?? 0) > 0));
    assert.deepEqual(await page.evaluate(() =>
      [Object.keys(sessionStorage), Object.keys(localStorage),
       document.cookie]), [["reeve.key"], [], ""]);
    assert.deepEqual(await page.evaluate(() => window.violations), []);
    await page.getByRole("button", { name: "Sign out" }).click();
    await heading(page, "Sign in");
    assert.equal(await page.evaluate(() => sessionStorage.length), 0);
    await page.context().close();
  });

  it("of a client shows it its own, and says what it may not see", async () => {
    const page = await browser.page(node);
    await page.goto("/jobs");
    await page.getByLabel("API key").fill(keys.client);
    await page.keyboard.press("Enter");
    await heading(page, "Jobs");
    await page.getByText("No jobs yet").waitFor();
    await page.goto("/failures");
    await page.getByRole("alert").getByText("takes an operator's").waitFor();
    await page.context().close();
  });
});
