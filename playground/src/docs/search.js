// The search: sections of all pages, ranked, as a list below the field. Arrow keys choose, Enter follows, Escape closes.

import MiniSearch from "minisearch";

const MOST = 12;
const AROUND = 60;

// The words around the first match, with the match marked.
function excerpt(text, terms) {
  const lower = text.toLowerCase();
  const at = Math.min(...terms.map((term) => lower.indexOf(term)).filter((place) => place >= 0), text.length);
  const from = at === text.length ? 0 : Math.max(0, at - AROUND);
  const shown = document.createElement("span");
  shown.className = "excerpt";
  const piece = text.slice(from, from + 3 * AROUND).replace(/\s+/g, " ");
  const escaped = terms.map((term) => term.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  const parts = escaped.length ? piece.split(new RegExp(`(${escaped.join("|")})`, "i")) : [piece];
  parts.forEach((part, at) => {
    if (at % 2) shown.appendChild(document.createElement("mark")).textContent = part;
    else shown.append(part);
  });
  return shown;
}

function option(found, at) {
  const shown = document.createElement("a");
  shown.id = `found-${at}`;
  shown.href = found.link;
  shown.setAttribute("role", "option");
  shown.tabIndex = -1;
  const heading = shown.appendChild(document.createElement("strong"));
  heading.textContent = found.heading;
  shown.append(` ${found.heading === found.page ? "" : `· ${found.page}`}`, excerpt(found.text, found.terms));
  return shown;
}

export async function bindSearch(field, list) {
  const index = new MiniSearch({
    fields: ["heading", "text"],
    storeFields: ["heading", "text", "page", "link"],
    // Codes such as `W0509` and names with underscores are words.
    tokenize: (text) => text.split(/[^\p{L}\p{N}_]+/u).filter(Boolean),
    searchOptions: { boost: { heading: 4 }, prefix: true, combineWith: "AND", fuzzy: (term) => (term.length > 5 ? 0.2 : false) },
  });
  let chosen = -1;

  const choose = (at) => {
    const options = [...list.children].filter((each) => each.role === "option");
    chosen = options.length ? (at + options.length) % options.length : -1;
    options.forEach((each, place) => each.setAttribute("aria-selected", String(place === chosen)));
    options[chosen]?.scrollIntoView({ block: "nearest" });
    if (chosen < 0) field.removeAttribute("aria-activedescendant");
    else field.setAttribute("aria-activedescendant", options[chosen].id);
    return options[chosen];
  };
  const close = () => {
    list.hidden = true;
    field.setAttribute("aria-expanded", "false");
    choose(-1);
  };
  const look = () => {
    const asked = field.value.trim();
    if (!asked) return close();
    const found = index.search(asked).slice(0, MOST);
    const none = Object.assign(document.createElement("p"), { className: "quiet", textContent: "Nothing was found." });
    list.replaceChildren(...(found.length ? found.map(option) : [none]));
    list.hidden = false;
    field.setAttribute("aria-expanded", "true");
    choose(0);
  };

  field.addEventListener("input", look);
  field.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) choose(chosen + step);
    else if (event.key === "Enter") choose(chosen)?.click();
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
  });
  document.addEventListener("click", ({ target }) => target.closest("#search") || close());
  list.addEventListener("click", ({ target }) => target.closest("a") && close());

  const answer = await fetch("search.json");
  index.addAll(await answer.json());
  look();
}
