// Where the links of the documents lead: to another page, or into the source. A link that leads nowhere is a mistake of the build.

import { existsSync, statSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { PAGES, REPOSITORY } from "./pages.mjs";

const bySource = new Map(PAGES.map((page) => [page.source, page]));

// Answers for the links of one document; what is wrong is added to `dead`, and anchors of other pages to `wanted`, which are known later.
export function resolver({ root, source, wanted, dead }) {
  return (link) => {
    if (/^[a-z]+:/.test(link)) return link;
    const [path, anchor] = link.split("#");
    const file = path ? normalize(join(dirname(source), path)).replace(/\/$/, "") : source;
    const target = bySource.get(file);
    if (target) {
      if (anchor) wanted.push({ source, link, page: target.name, anchor });
      return (path ? `${target.name}.html` : "") + (anchor ? `#${anchor}` : "");
    }
    const full = join(root, file);
    if (!existsSync(full)) {
      dead.push(`${source}: ${link} leads nowhere`);
      return link;
    }
    return `${REPOSITORY}/${statSync(full).isDirectory() ? "tree" : "blob"}/main/${file}${anchor ? `#${anchor}` : ""}`;
  };
}

// The anchors that no heading has.
export function deadAnchors(wanted, headings) {
  return wanted
    .filter(({ page, anchor }) => !headings.get(page).some(({ id }) => id === decodeURIComponent(anchor)))
    .map(({ source, link }) => `${source}: ${link} leads to no heading`);
}
