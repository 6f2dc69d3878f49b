// Markdown to the HTML of a page: headings with anchors, links between pages and into the source, programs that can be edited.

import hljs from "highlight.js/lib/common";
import MarkdownIt from "markdown-it";
import { GROWING } from "./pages.mjs";
import { escape, programHtml } from "./programs.mjs";

// The anchor of a heading, as GitHub makes it, so that links work in both places.
function slug(text) {
  const kept = text.toLowerCase().replace(/[^\p{L}\p{N}\p{M}\p{Pc} -]/gu, "");
  return kept.replaceAll(" ", "-");
}

const plain = (inline) =>
  inline.children
    .map(({ type, content }) => (type === "softbreak" ? " " : ["text", "code_inline"].includes(type) ? content : ""))
    .join("");

// Gives headings their anchors; returns them.
function anchor(tokens) {
  const seen = new Map();
  const headings = [];
  tokens.forEach((token, at) => {
    if (token.type !== "heading_open") return;
    const text = plain(tokens[at + 1]);
    const base = slug(text);
    const count = seen.get(base) ?? 0;
    seen.set(base, count + 1);
    const id = count ? `${base}-${count}` : base;
    token.attrSet("id", id);
    headings.push({ id, text, level: Number(token.tag.slice(1)) });
  });
  return headings;
}

// The text of a page by headings, for the search.
function sections(tokens, headings) {
  const all = [];
  let next = 0;
  for (const [at, token] of tokens.entries()) {
    if (token.type === "heading_open") {
      const { id, text } = headings[next++];
      all.push({ id, heading: text, text: "" });
    } else if (token.type === "inline" && tokens[at - 1]?.type !== "heading_open" && all.length) {
      all.at(-1).text += `${plain(token)}\n`;
    } else if (token.type === "fence" && all.length) {
      all.at(-1).text += token.content;
    }
  }
  return all;
}

// Rust has lines for its tests alone, which begin with `# `.
function hideTestLines(tokens) {
  for (const token of tokens)
    if (token.type === "fence" && token.info.startsWith("rust")) token.content = token.content.replace(/^#( .*)?\n/gm, "");
}

// The programs of a page, and what stands above each of them.
function programs(tokens, source) {
  let [group, above] = [0, ""];
  for (const token of tokens) {
    if (token.type === "heading_open") [group, above] = [group + 1, ""];
    if (token.type !== "fence") continue;
    const [kind, ...rest] = token.info.trim().split(/\s+/);
    if (kind !== "loom") continue;
    const grows = GROWING.has(source);
    if (!grows) [group, above] = [group + 1, ""];
    const isMistake = rest.includes("mistake");
    token.meta = { group, above, isMistake };
    if (grows && !isMistake) above += token.content;
  }
}

// Code of other languages, with colours where the language is known.
function codeHtml(kind, content) {
  const language = { console: "shell" }[kind] ?? kind;
  const isCode = kind !== "text" && hljs.getLanguage(language);
  return isCode ? hljs.highlight(content, { language }).value : escape(content);
}

function renderer(ask, resolve) {
  const markdown = new MarkdownIt({ html: false, linkify: false });
  const { rules } = markdown.renderer;
  rules.fence = (tokens, at) => {
    const { info, content, meta } = tokens[at];
    const kind = info.trim().split(/\s+/)[0] || "text";
    if (!meta) return `<pre class="block block-${escape(kind)}" tabindex="0"><code>${codeHtml(kind, content)}</code></pre>\n`;
    const attributes = `data-group="${meta.group}"${meta.isMistake ? " data-mistake" : ""}`;
    const code = programHtml(ask, meta.above, content);
    return `<div class="program" ${attributes} data-text="${escape(content)}"><pre class="block" tabindex="0"><code>${code}</code></pre></div>\n`;
  };
  rules.heading_close = (tokens, at) => {
    const id = tokens[at - 2].attrGet("id");
    return ` <a class="anchor" href="#${escape(id)}" aria-label="Link to this heading">#</a></${tokens[at].tag}>\n`;
  };
  rules.table_open = () => '<div class="scrolls"><table>\n';
  rules.table_close = () => "</table></div>\n";
  rules.link_open = (tokens, at, options, env, self) => {
    tokens[at].attrSet("href", resolve(tokens[at].attrGet("href")));
    return self.renderToken(tokens, at, options);
  };
  return markdown;
}

// A page: its HTML, its headings, and its sections for the search. `resolve` says where a link leads.
export function page({ source, text, ask, resolve }) {
  const markdown = renderer(ask, resolve);
  const env = {};
  const tokens = markdown.parse(text, env);
  const headings = anchor(tokens);
  hideTestLines(tokens);
  programs(tokens, source);
  return { html: markdown.renderer.render(tokens, markdown.options, env), headings, sections: sections(tokens, headings) };
}
