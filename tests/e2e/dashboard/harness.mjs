// tests/e2e/dashboard/harness.mjs -- the real node and a real Chromium.
//
// The binary is $REEVE_BIN, the browser $REEVE_CHROMIUM, else Debian's.
// REEVE_TEST_SCREENSHOTS=FOLDER keeps a picture of each view.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../../../", import.meta.url));
const require = createRequire(path.join(root, "web/package.json"));
const { chromium } = require("playwright-core");

const binary = process.env.REEVE_BIN ?? path.join(root, "build/debug/reeve");
/// How long anything may take on a machine that is busy with other tests.
export const patience = 60_000;

export async function until(what, found) {
  const deadline = Date.now() + patience;
  for (;;) {
    const result = await found();
    if (result)
      return result;
    if (Date.now() > deadline)
      throw new Error(`waited in vain for ${what}`);
    await new Promise((go) => setTimeout(go, 50));
  }
}

function cleanEnvironment() {
  return Object.fromEntries(Object.entries(process.env).filter(
    ([name]) => !/^(REEVE_|PG)/.test(name)));
}

/// A running `reeve serve` on a database of its own.
export class Node {
  constructor(options = {}) {
    this.folder = mkdtempSync(path.join(tmpdir(), "reeve-dashboard-"));
    this.options = {
      "http.port": 0, "node.name": "node-1",
      "database.url": `sqlite:${path.join(this.folder, "reeve.db")}`,
      ...options,
    };
  }

  static async start(options) {
    const node = new Node(options);
    await node.start();
    return node;
  }

  async start() {
    const words = Object.entries(this.options).map(([k, v]) => `--${k}=${v}`);
    this.process = spawn(binary, ["serve", ...words], {
      cwd: this.folder, env: cleanEnvironment(),
      stdio: ["ignore", "pipe", "pipe"],
    });
    const { process: child } = this;
    process.once("exit", () => child.kill("SIGKILL"));
    this.log = "";
    this.process.stderr.on("data", (x) => { this.log += x; });
    let out = "";
    await new Promise((resolve, reject) => {
      this.process.stdout.on("data", (x) => {
        out += x;
        const line = /^listening on http:\/\/127\.0\.0\.1:(\d+)$/m.exec(out);
        if (line) {
          this.port = Number(line[1]);
          resolve();
        }
      });
      this.process.once("exit", (code) =>
        reject(new Error(`the node ended (${code}): ${this.log}`)));
    });
    // Started again it takes the same port: pages find it there.
    this.options["http.port"] = this.port;
  }

  get url() {
    return `http://127.0.0.1:${this.port}`;
  }

  async kill() {
    if (this.process.exitCode === null && this.process.signalCode === null) {
      this.process.kill("SIGKILL");
      await once(this.process, "exit");
    }
  }

  async close() {
    await this.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /// `reeve` with this node's database, to its end; what it printed.
  async run(...words) {
    const child = spawn(
      binary, [...words, `--database.url=${this.options["database.url"]}`],
      { env: cleanEnvironment(), stdio: ["ignore", "pipe", "inherit"] });
    let out = "";
    child.stdout.on("data", (x) => { out += x; });
    const [code] = await once(child, "exit");
    assert.equal(code, 0, out);
    return out;
  }

  async request(method, where, body, headers = {}) {
    const response = await fetch(this.url + where, {
      method, headers: { "Content-Type": "application/json", ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    assert.ok(response.ok, `${method} ${where}: ${response.status} ${text}`);
    return text ? JSON.parse(text) : null;
  }

  get(where) {
    return this.request("GET", where);
  }

  post(where, body) {
    return this.request("POST", where, body);
  }

  addJob(fields) {
    return this.post("/api/jobs", { target_id: "t", ...fields });
  }

  waitForJob(id, status) {
    return until(`job ${id} to be ${status}`, async () => {
      const job = await this.get(`/api/jobs/${id}`);
      return job.status === status ? job : null;
    });
  }
}

/// One browser for a test file; each page has a profile of its own.
export class Browser {
  static async start() {
    const result = new Browser();
    result.browser = await chromium.launch({
      executablePath: process.env.REEVE_CHROMIUM ?? "/usr/bin/chromium",
      args: ["--no-sandbox", "--disable-gpu", "--disable-quic",
             "--no-first-run", "--disable-background-networking",
             "--disable-component-update", "--disable-sync"],
    });
    return result;
  }

  close() {
    return this.browser.close();
  }

  async page(node, options = {}) {
    const context = await this.browser.newContext({
      baseURL: node.url, viewport: { width: 1280, height: 900 }, ...options,
    });
    // What the browser itself refuses, and what the page threw.
    await context.addInitScript(() => {
      window.violations = [];
      document.addEventListener("securitypolicyviolation", (event) =>
        window.violations.push(
          `${event.violatedDirective}: ${event.blockedURI} ${event.sample}`));
    });
    const page = await context.newPage();
    page.setDefaultTimeout(patience);
    page.complaints = [];
    page.on("pageerror", (error) => page.complaints.push(String(error)));
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type()))
        page.complaints.push(`${message.type()}: ${message.text()}`);
    });
    return page;
  }
}

export async function assertClean(page) {
  assert.deepEqual(page.complaints, []);
  assert.deepEqual(await page.evaluate(() => window.violations), []);
}

/// The page must not be wider than the window.
export async function assertFits(page) {
  const [wide, window] = await page.evaluate(() =>
    [document.documentElement.scrollWidth, innerWidth]);
  assert.ok(wide <= window, `${page.url()} is ${wide} wide in ${window}`);
}

export async function screenshot(page, name) {
  const folder = process.env.REEVE_TEST_SCREENSHOTS;
  if (folder)
    await page.screenshot({ path: path.join(folder, `${name}.png`) });
}

export function heading(page, name) {
  return page.getByRole("heading", { level: 1, name, exact: true }).waitFor();
}

/// A program as a job type: a line of shell.
export function program(line) {
  return JSON.stringify(["/bin/sh", "-c", line]);
}
