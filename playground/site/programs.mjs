// Programs as they stand in a page before anybody edits them: with colours, shapes beside names, and mistakes underlined.

import { answerWithin } from "../src/docs/within.js";

export const escape = (text) => String(text).replace(/[&<>"]/g, (each) => `&#${each.charCodeAt(0)};`);

// The files that a program reads are not in the page.
const readsFiles = (text) => /\bload\(|^import /m.test(text);

// The pieces of a text that begin and end where something changes, each with its classes.
function pieces(text, marks) {
  const cuts = new Set([0, text.length, ...marks.flatMap(({ from, to }) => [from, to])]);
  const places = [...cuts].sort((a, b) => a - b);
  return places.slice(0, -1).map((from, at) => {
    const to = places[at + 1];
    const classes = marks.filter((mark) => mark.from <= from && mark.to >= to).map((mark) => mark.class);
    return { from, to, classes };
  });
}

function marksOf({ tokens, mistakes }) {
  const marks = tokens.map(({ from, to, class: kind }) => ({ from, to, class: `token-${kind}` }));
  for (const { labels, severity } of mistakes)
    for (const { from, to, primary } of labels)
      if (to > from) marks.push({ from, to, class: primary ? `wrong wrong-${severity}` : `end end-${severity}` });
  return marks;
}

// The HTML of a program below the text `above`. Hints are no part of what is selected and copied.
export function programHtml(ask, above, text) {
  const shown = text.replace(/\n$/, "");
  const answer = answerWithin(ask({ ask: "edit", text: above + text }), above.length);
  const known = readsFiles(above + text) ? { ...answer, hints: [], mistakes: [] } : answer;
  const hints = new Map(known.hints.map(({ at, text }) => [at, text]));
  const marks = marksOf(known).filter(({ from, to }) => from >= 0 && to <= shown.length);
  // Hints cut pieces, too.
  for (const at of hints.keys()) marks.push({ from: at, to: at, class: "" });
  return pieces(shown, marks)
    .map(({ from, to, classes }) => {
      const named = [...new Set(classes.filter(Boolean))].join(" ");
      const word = escape(shown.slice(from, to));
      const hint = hints.has(to) ? `<span class="hint" aria-hidden="true">${escape(hints.get(to))}</span>` : "";
      return (named ? `<span class="${named}">${word}</span>` : word) + hint;
    })
    .join("");
}
