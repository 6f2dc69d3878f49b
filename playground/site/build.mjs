// Makes dist/docs/: the documents as pages, and what the search looks through.

import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { engineOf } from "./engine.mjs";
import { deadAnchors, resolver } from "./links.mjs";
import { page as rendered } from "./markdown.mjs";
import { PAGES } from "./pages.mjs";
import { document } from "./template.mjs";

function missing(root) {
  const known = new Set(PAGES.map(({ source }) => source));
  const files = readdirSync(join(root, "docs")).filter((name) => name.endsWith(".md"));
  return files.filter((name) => !known.has(`docs/${name}`)).map((name) => `docs/${name} is not in site/pages.mjs`);
}

// Builds the pages below `out`; `wasm` is the engine. Returns what is wrong with the documents, as sentences.
export async function buildSite({ root, out, wasm }) {
  const ask = await engineOf(wasm);
  const [wanted, wrong, headings, index] = [[], missing(root), new Map(), []];
  mkdirSync(out, { recursive: true });
  for (const page of PAGES) {
    const text = readFileSync(join(root, page.source), "utf8");
    const resolve = resolver({ root, source: page.source, wanted, dead: wrong });
    const made = rendered({ source: page.source, text, ask, resolve });
    headings.set(page.name, made.headings);
    const description = made.sections[0]?.text.split("\n")[0].slice(0, 200) ?? page.title;
    writeFileSync(join(out, `${page.name}.html`), document({ page, ...made, description }));
    for (const { id, heading, text } of made.sections)
      index.push({ id: index.length, link: `${page.name}.html#${id}`, page: page.title, heading, text });
  }
  writeFileSync(join(out, "search.json"), JSON.stringify(index));
  return [...wrong, ...deadAnchors(wanted, headings)];
}
