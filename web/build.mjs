// web/build.mjs FOLDER -- bundles the dashboard into FOLDER: index.html, which
// is asked for anew, and assets/, whose names change with their content. Each
// file has its compressed forms beside it, where they are smaller.
import { build } from "esbuild";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const here = path.dirname(fileURLToPath(import.meta.url));
const folder = process.argv[2];
if (!folder) {
  console.error("usage: node build.mjs FOLDER");
  process.exit(2);
}

const result = await build({
  absWorkingDir: here,
  entryPoints: {
    app: "src/main.tsx",
    theme: "src/early_theme.ts",
    icon: "src/icon.svg",
  },
  outdir: path.join(folder, "assets"),
  entryNames: "[name]-[hash]",
  assetNames: "[name]-[hash]",
  bundle: true,
  format: "esm",
  target: ["chrome110", "firefox110", "safari16"],
  jsx: "automatic",
  jsxImportSource: "preact",
  loader: { ".svg": "copy", ".woff2": "file" },
  legalComments: "none",
  metafile: true,
  minify: true,
  write: false,
  logLevel: "warning",
});

const files = new Map(
  result.outputFiles.map((x) => [
    path.relative(folder, x.path), Buffer.from(x.contents)]));

function assetNamed(pattern) {
  const found = [...files.keys()].filter((x) => pattern.test(x));
  if (found.length !== 1)
    throw new Error(`${found.length} files match ${pattern}`);
  return "/" + found[0];
}

const page = (await readFile(path.join(here, "src/index.html"), "utf8"))
  .replace("@theme@", assetNamed(/^assets\/theme-.*\.js$/))
  .replace("@style@", assetNamed(/^assets\/app-.*\.css$/))
  .replace("@font@", assetNamed(/^assets\/.*\.woff2$/))
  .replace("@icon@", assetNamed(/^assets\/icon-.*\.svg$/))
  .replace("@app@", assetNamed(/^assets\/app-.*\.js$/));
files.set("index.html", Buffer.from(page));

await rm(folder, { recursive: true, force: true });
for (const [name, bytes] of files) {
  const file = path.join(folder, name);
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, bytes);
  const forms = {
    gz: gzipSync(bytes, { level: 9 }),
    br: brotliCompressSync(bytes, {
      params: { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length },
    }),
  };
  for (const [ending, compressed] of Object.entries(forms))
    if (compressed.length < bytes.length * 0.95)
      await writeFile(`${file}.${ending}`, compressed);
}
