// web/build.mjs FOLDER -- bundles the dashboard into FOLDER: index.html, which
// is asked for anew, and assets/, whose names change with their content; one of
// them is the licences of all packages that are in the bundle. Each file has its
// compressed forms beside it, where they are smaller.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
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
  legalComments: "none", // all are in third-party-licenses
  metafile: true,
  minify: true,
  write: false,
  logLevel: "warning",
});

const files = new Map(
  result.outputFiles.map((x) => [
    path.relative(folder, x.path), Buffer.from(x.contents)]));

/** What those ask for whose work is in the bundle: their notices with it. */
async function licencesOf(inputs) {
  const packages = new Set(Object.keys(inputs).flatMap(
    (x) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(x)?.[1] ?? []));
  const parts = [];
  for (const name of [...packages].sort()) {
    const home = path.join(here, "node_modules", name);
    const about = JSON.parse(
      await readFile(path.join(home, "package.json"), "utf8"));
    const notices = (await readdir(home)).filter(
      (x) => /^(licen[cs]e|copying|notice)/i.test(x)).sort();
    if (notices.length === 0)
      throw new Error(`${name} is bundled and has no licence beside it`);
    parts.push(`== ${name} ${about.version} (${about.license})\n`);
    for (const x of notices) {
      const text = await readFile(path.join(home, x), "utf8");
      parts.push(text.replaceAll("\r\n", "\n").trim() + "\n");
    }
  }
  if (parts.length === 0)
    throw new Error("no package is bundled: has node_modules moved?");
  return Buffer.from(parts.join("\n"));
}

const licences = await licencesOf(result.metafile.inputs);
const digest = createHash("sha256").update(licences).digest("hex");
const licencesName = `assets/third-party-licenses-${digest.slice(0, 8)}.txt`;
files.set(licencesName, licences);

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
  .replace("@app@", assetNamed(/^assets\/app-.*\.js$/))
  .replace("</head>",
           `<link rel="license" href="/${licencesName}">\n</head>`);
if (!page.includes(licencesName))
  throw new Error("the page does not name the licences");
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
