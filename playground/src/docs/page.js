// A page of the documents: the theme, the menu of narrow screens, the search, and programs that can be edited. Everything heavy is loaded when
// it is needed: the editor and the engine with the first program that is edited or run, the index of the search when its field is entered.

import { bindTheme } from "../theme.js";

const byId = (id) => document.getElementById(id);

function bindMenu() {
  const [button, menu] = [byId("menu"), byId("navigation")];
  const open = (isOpen) => {
    button.setAttribute("aria-expanded", String(isOpen));
    menu.classList.toggle("open", isOpen);
  };
  button.addEventListener("click", () => open(button.getAttribute("aria-expanded") !== "true"));
  menu.addEventListener("keydown", ({ key }) => {
    if (key !== "Escape") return;
    open(false);
    button.focus();
  });
  menu.addEventListener("click", ({ target }) => target.closest("a") && open(false));
  // The page that is shown is in sight in the list of pages, however far down.
  menu.scrollTop = menu.querySelector("[aria-current]").offsetTop - menu.clientHeight / 3;
}

function bindSearch() {
  const field = byId("query");
  let search;
  const load = () => (search ??= import("./search.js").then((module) => module.bindSearch(field, byId("found"))));
  field.addEventListener("focus", load, { once: true });
  document.addEventListener("keydown", (event) => {
    const writes = event.target.closest("input, textarea, [contenteditable=true]");
    if (event.key !== "/" || writes || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    field.focus();
  });
}

function button(text, label) {
  const made = Object.assign(document.createElement("button"), { type: "button", textContent: text });
  made.setAttribute("aria-label", label);
  return made;
}

function bindPrograms() {
  const all = [...document.querySelectorAll(".program")];
  // The first use of a program loads what it takes, once for all of them.
  let loaded;
  const load = () => (loaded ??= import("./block.js").then(({ Blocks }) => new Blocks(all)));
  for (const program of all) {
    const bar = program.appendChild(document.createElement("div"));
    bar.className = "bar";
    const [run, edit] = [button("Run", "Run this program"), button("Edit", "Edit this program")];
    bar.append(run, edit);
    const use = (what) => async () => {
      try {
        (await load()).of(program)[what]();
      } catch (error) {
        loaded = undefined;
        bar.append(` could not be loaded: ${error.message}`);
      }
    };
    run.addEventListener("click", use("run"));
    edit.addEventListener("click", use("edit"));
    program.querySelector("pre").addEventListener("dblclick", use("edit"));
  }
}

bindTheme(byId("theme"));
bindMenu();
bindSearch();
bindPrograms();
