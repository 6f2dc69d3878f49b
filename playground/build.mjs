// Makes dist/: the playground, its script, the examples as a menu, and the engine as WebAssembly; and in dist/docs the documents.
//
//   node build.mjs [FILE.wasm]
//
// Without a file, the engine is compiled by cargo.

import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { compress, init as initCompression } from "@bokuweb/zstd-wasm";
import { build } from "esbuild";
import { buildSite } from "./site/build.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const root = dirname(here);
const out = join(here, "dist");
// The playground and all it loads, compressed as servers do.
const MOST_BYTES = 1.5e6;
// The level of compression.
const BEST = 22;

function engine() {
  if (process.argv[2]) return process.argv[2];
  const target = process.env.CARGO_TARGET_DIR ?? join(root, "target");
  const args = ["build", "--profile", "web", "-p", "broadloom-web", "--target", "wasm32-unknown-unknown"];
  execFileSync("cargo", args, { cwd: root, stdio: "inherit" });
  return join(target, "wasm32-unknown-unknown/web/broadloom_web.wasm");
}

// The programs of examples/ that need no files, titled by the first line of their comment.
function examples() {
  const folder = join(root, "examples");
  const names = readdirSync(folder).filter((name) => name.endsWith(".loom")).sort();
  const all = names.map((name) => {
    const text = readFileSync(join(folder, name), "utf8");
    const title = (text.match(/^# (.+?)[.:]?$/m)?.[1] ?? name).replace(/: .*/, "");
    return { name: name.replace(/\.loom$/, ""), title, text };
  });
  return all.filter(({ text }) => !/\bload\(|^import /m.test(text));
}

// The programs of the tutorial: the blocks of a chapter go on from each other.
function chapters() {
  const [, ...parts] = readFileSync(join(root, "docs/tutorial.md"), "utf8").split(/^## /m);
  const all = parts.map((part, at) => {
    const title = part.slice(0, part.indexOf("\n")).replaceAll("`", "");
    const blocks = [...part.matchAll(/^```loom\n(.*?)^```$/gms)].map((block) => block[1]);
    return { name: `tutorial-${at + 1}`, title, text: blocks.join("\n") };
  });
  return all.filter(({ text }) => text && !/\bload\(|^import /m.test(text));
}

rmSync(out, { recursive: true, force: true });
mkdirSync(out);
const define = { PROGRAMS: JSON.stringify({ examples: examples(), chapters: chapters() }) };
const options = { bundle: true, minify: true, format: "esm", target: "es2022", outdir: out, logLevel: "warning", define };
// What the playground and the documents share is in files of its own, and loaded when it is needed.
const entryPoints = { main: join(here, "src/main.js"), docs: join(here, "src/docs/page.js") };
const { metafile } = await build({ ...options, entryPoints, splitting: true, chunkNames: "[name]-[hash]", metafile: true });
await build({ ...options, entryPoints: [join(here, "src/worker.js")] });
for (const file of ["index.html", "common.css", "style.css", "docs.css"]) cpSync(join(here, "src", file), join(out, file));
const wasm = engine();
// The page unpacks the engine itself: not every host compresses modules, and Zstandard needs a fifth less than gzip.
await initCompression();
writeFileSync(join(out, "broadloom.wasm.packed"), compress(readFileSync(wasm), BEST));

const compressed = (file) => {
  const content = readFileSync(file);
  return file.endsWith(".packed") ? content.length : gzipSync(content, { level: 9 }).length;
};
const kilobytes = (size) => String(Math.round(size / 1000)).padStart(6);
// What the documents alone load is no part of the playground.
const scripts = new Map(Object.entries(metafile.outputs).map(([path, { imports }]) => [basename(path), imports.map((each) => basename(each.path))]));
const reached = (name, all = new Set()) => {
  if (!all.has(name)) (scripts.get(name) ?? []).forEach((next) => reached(next, all.add(name)));
  return all.add(name);
};
const own = reached("main.js");
const ofDocs = (name) => name === "docs.css" || (scripts.has(name) && !own.has(name));
let total = 0;
for (const name of readdirSync(out)) {
  const size = compressed(join(out, name));
  if (!ofDocs(name)) total += size;
  console.log(`${kilobytes(size)} kB compressed  ${name}${ofDocs(name) ? ", for the documents" : ""}`);
}
console.log(`${kilobytes(total)} kB in all`);
if (total > MOST_BYTES) {
  console.error(`the page may have at most ${MOST_BYTES / 1000} kB`);
  process.exit(1);
}

const pages = join(out, "docs");
const begun = performance.now();
const wrong = await buildSite({ root, out: pages, wasm });
for (const sentence of wrong) console.error(sentence);
if (wrong.length) process.exit(1);
const size = readdirSync(pages).reduce((sum, name) => sum + compressed(join(pages, name)), 0);
console.log(`${kilobytes(size)} kB compressed  docs/, ${readdirSync(pages).length} files in ${((performance.now() - begun) / 1000).toFixed(1)} s`);
writeFileSync(join(out, ".nojekyll"), "");
