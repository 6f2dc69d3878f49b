// The HTML around a page: its head, the navigation, the search, and what comes before and after it.

import { GROUPS, PAGES, REPOSITORY } from "./pages.mjs";
import { escape } from "./programs.mjs";

function navigation(current, headings) {
  const parts = headings.filter(({ level }) => level === 2);
  const below = `<ul>${parts.map(({ id, text }) => `<li><a href="#${escape(id)}">${escape(text)}</a></li>`).join("")}</ul>`;
  const item = (page) =>
    page === current
      ? `<li><a href="${page.name}.html" aria-current="page">${escape(page.title)}</a>${parts.length ? below : ""}</li>`
      : `<li><a href="${page.name}.html">${escape(page.title)}</a></li>`;
  return GROUPS.map(({ title, pages }) => `<h2>${escape(title)}</h2><ul>${pages.map(item).join("")}</ul>`).join("\n");
}

function neighbours(current) {
  const at = PAGES.indexOf(current);
  const link = (page, kind, word) =>
    page ? `<a rel="${kind}" href="${page.name}.html"><span class="quiet">${word}</span> ${escape(page.title)}</a>` : "<span></span>";
  return link(PAGES[at - 1], "prev", "Before") + link(PAGES[at + 1], "next", "Next");
}

export function document({ page, html, headings, description }) {
  const title = page.name === "index" ? "Broadloom" : `${page.title} · Broadloom`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="description" content="${escape(description)}">
<title>${escape(title)}</title>
<script>document.documentElement.dataset.theme = localStorage.getItem("theme") ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");</script>
<link rel="stylesheet" href="../common.css">
<link rel="stylesheet" href="../docs.css">
<link rel="icon" href="data:,">
<script type="module" src="../docs.js"></script>
</head>
<body>
<a class="skip" href="#content">Skip to the text</a>
<header>
  <button id="menu" type="button" aria-expanded="false" aria-controls="navigation">Menu</button>
  <a class="home" href="index.html">Broadloom</a>
  <div id="search" role="search">
    <input id="query" type="search" placeholder="Search" title="Press / to search" aria-label="Search the documents" role="combobox" aria-expanded="false" aria-controls="found" autocomplete="off" spellcheck="false">
    <div id="found" role="listbox" aria-label="What was found" hidden></div>
  </div>
  <a href="../index.html">Playground</a>
  <button id="theme" type="button" aria-pressed="false">Dark</button>
</header>
<div class="columns">
<nav id="navigation" aria-label="Pages">
${navigation(page, headings)}
</nav>
<main id="content" tabindex="-1">
${html}
<footer>
<nav class="neighbours" aria-label="Before and after">${neighbours(page)}</nav>
<p class="quiet"><a href="${REPOSITORY}/blob/main/${page.source}">The source of this page</a></p>
</footer>
</main>
</div>
</body>
</html>
`;
}
