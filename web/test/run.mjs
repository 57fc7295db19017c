// web/test/run.mjs -- bundles the unit tests for Node.js and runs them.
import { build } from "esbuild";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));
const folder = mkdtempSync(path.join(tmpdir(), "reeve-web-"));
let status = 1;
try {
  const tests = readdirSync(here).filter((x) => x.endsWith(".test.ts"));
  await build({
    absWorkingDir: here,
    entryPoints: tests,
    outdir: folder,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node18",
    logLevel: "warning",
  });
  status = spawnSync(
    process.execPath,
    ["--test", ...tests.map((x) => path.join(
      folder, x.replace(/\.ts$/, ".mjs")))],
    { stdio: "inherit", env: { ...process.env, TZ: "UTC" } }).status ?? 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.exit(status);
