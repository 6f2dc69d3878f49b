// The page: an editor on one side, answers on the other.

import { createEditor } from "./editor.js";
import { Engine, loadModule } from "./engine.js";
import { fromFragment, toFragment } from "./link.js";
import * as panels from "./panels.js";
import { bindTheme } from "./theme.js";

const byId = (id) => document.getElementById(id);
const panel = byId("panel");
const status = byId("status");

/* global PROGRAMS */
const { examples, chapters } = PROGRAMS;
const programs = new Map([...examples, ...chapters].map((program) => [program.name, program.text]));

function fillMenu() {
  const menu = byId("programs");
  for (const [label, list] of [["Tutorial", chapters], ["Examples", examples]]) {
    const group = menu.appendChild(Object.assign(document.createElement("optgroup"), { label }));
    for (const { name, title } of list) group.append(new Option(title, name));
  }
  menu.addEventListener("change", () => {
    if (programs.has(menu.value)) {
      chosen = menu.value;
      editor.replace(programs.get(menu.value));
    }
    menu.value = "";
    editor.focus();
  });
}

// The tabs: what is asked when one is shown, and how the answer is shown.
const tabs = {
  shapes: { shows: () => (answer ? panels.shapes(answer, { onReveal: reveal, onExplain: explain }) : []) },
  explanation: { ask: () => explanation(), shows: panels.text("Put the cursor on a name, or click one in the table of shapes: here stands why it has its shape.") },
  loops: { ask: () => ({ ask: "loops" }), shows: panels.text("The program computes nothing yet.") },
  optimised: { ask: () => ({ ask: "loops", optimised: true }), shows: panels.text("The program computes nothing yet.") },
  picture: { ask: () => ({ ask: "graph" }), shows: panels.picture },
  memory: { ask: () => ({ ask: "memory" }), shows: panels.memory },
  signatures: { ask: () => ({ ask: "signatures" }), shows: panels.text("The program defines no functions.") },
  code: {
    ask: () => ({ ask: "emit", format }),
    shows: (found) => panels.code(found, format, (chosen) => {
      format = chosen;
      show().then(() => byId("format-of-code")?.focus());
    }),
  },
  output: { shows: () => output?.parts ?? [Object.assign(document.createElement("p"), { className: "quiet", textContent: "Run the program to see what it prints." })] },
};
let current = "shapes";
// The format of generated code.
let format = "c";
let answer = null;
let output = null;
// The name that is explained; without one, what is under the cursor.
let explained = null;
// The program of the menu that was chosen last.
let chosen = "";
let engine;
let runner = null;
let editor;

const explanation = () => (explained ? { ask: "explain", name: explained } : { ask: "explain-at", at: editor.cursor() });

function select(name) {
  current = name;
  for (const tab of document.querySelectorAll("[role=tab]")) {
    const selected = tab.dataset.tab === name;
    tab.setAttribute("aria-selected", String(selected));
    tab.tabIndex = selected ? 0 : -1;
    if (selected) panel.setAttribute("aria-labelledby", tab.id);
  }
  return show();
}

async function show() {
  const tab = tabs[current];
  const fill = (parts) => {
    panel.replaceChildren(...parts);
    panel.dataset.shows = asked;
  };
  const asked = current;
  if (!tab.ask) return fill(tab.shows());
  if (!engine) return;
  try {
    const found = await engine.askLatest({ text: editor.text(), ...tab.ask() });
    if (found !== undefined && asked === current) fill(tab.shows(found));
  } catch (error) {
    if (asked !== current) return;
    const wrong = answer && !answer.ok ? "The program has mistakes; the tab of shapes shows them." : error.message;
    fill([Object.assign(document.createElement("p"), { className: "quiet", textContent: wrong })]);
  }
}

function reveal(at) {
  editor.reveal(at);
}

function explain(name) {
  explained = name;
  select("explanation");
}

async function edited(text) {
  if (!engine) return;
  const found = await engine.askLatest({ ask: "edit", text }).catch((error) => ((status.textContent = error.message), undefined));
  if (found === undefined) return;
  answer = found;
  window.firstAnswer ??= performance.now();
  editor.show(text, found);
  const count = (severity, word) => {
    const number = found.mistakes.filter((mistake) => mistake.severity === severity).length;
    return number ? `${number} ${word}${number === 1 ? "" : "s"}` : "";
  };
  const said = [count("error", "mistake"), count("warning", "warning")].filter(Boolean).join(", ");
  status.textContent = said || (text.trim() ? "no mistakes" : "");
  status.className = found.ok ? "fine" : "wrong";
  if (programs.get(chosen) === text) document.body.dataset.read = chosen;
  if (current !== "output") show();
}

function setRunning(running) {
  byId("run").hidden = running;
  byId("stop").hidden = !running;
}

async function run() {
  if (!engine || runner) return;
  output = new panels.Output(reveal);
  select("output");
  setRunning(true);
  const begun = performance.now();
  runner = new Engine(await loadModule());
  runner.onEvent = (event) => output.event(event);
  try {
    const { mistakes } = await runner.ask({ ask: "run", text: editor.text(), seed: 0 });
    const seconds = ((performance.now() - begun) / 1000).toFixed(1);
    output.ended(mistakes.length ? "The run ended with a mistake." : `Done in ${seconds} s.`, mistakes);
  } catch (error) {
    output.ended(error.message);
  } finally {
    runner.end();
    runner = null;
    setRunning(false);
  }
}

async function layOut() {
  if (!engine) return;
  const text = editor.text();
  const edits = await engine.ask({ ask: "format", text });
  if (edits.length && text === editor.text()) editor.change(edits);
}

async function share() {
  const link = location.origin + location.pathname + (await toFragment(editor.text()));
  history.replaceState(null, "", link);
  try {
    await navigator.clipboard.writeText(link);
    status.textContent = "the link is copied";
  } catch {
    status.textContent = "the link is in the address bar";
  }
}

function bindTabs() {
  const all = [...document.querySelectorAll("[role=tab]")];
  for (const [at, tab] of all.entries()) {
    tab.addEventListener("click", () => {
      if (tab.dataset.tab === "explanation") explained = null;
      select(tab.dataset.tab);
    });
    tab.addEventListener("keydown", ({ key }) => {
      const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: all.length - 1 }[key];
      if (to === undefined) return;
      const next = all[(to + all.length) % all.length];
      next.focus();
      select(next.dataset.tab);
    });
  }
}

bindTheme(byId("theme"));
const text = (await fromFragment(location.hash)) ?? programs.get("first_steps") ?? examples[0].text;
editor = createEditor({
  parent: byId("editor"),
  text,
  engine: { askLatest: (question) => (engine ? engine.askLatest(question) : Promise.resolve(undefined)) },
  onEdit: edited,
  onRun: run,
  onFormat: layOut,
  onCursor: () => {
    explained = null;
    if (current === "explanation") show();
  },
});
fillMenu();
bindTabs();
select("shapes");
byId("run").addEventListener("click", run);
byId("stop").addEventListener("click", () => runner?.stop());
byId("format").addEventListener("click", layOut);
byId("share").addEventListener("click", share);
addEventListener("hashchange", async () => {
  const shared = await fromFragment(location.hash);
  if (shared !== undefined && shared !== editor.text()) editor.replace(shared);
});
status.textContent = "loading…";
try {
  engine = new Engine(await loadModule());
  byId("run").disabled = false;
  await edited(editor.text());
} catch (error) {
  status.textContent = `Broadloom could not be loaded: ${error.message}`;
}
