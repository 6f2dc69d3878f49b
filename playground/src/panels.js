// What stands beside the text: shapes, mistakes, explanations, loops, pictures, memory, signatures, output.

import { plot } from "./plot.js";

const element = (name, properties = {}, children = []) => {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
};

const pre = (text) => element("pre", { textContent: text });

const hint = (text) => element("p", { className: "quiet", textContent: text });

const grouped = (number) => (number == null ? "" : Number(number).toLocaleString("en"));

export function bytes(number) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let at = 0;
  while (number >= 1000 && at < units.length - 1) [number, at] = [number / 1000, at + 1];
  return `${Number(number.toPrecision(3))} ${units[at]}`;
}

// A table of texts and elements; `{ number }` and `{ quiet }` are shown as such.
function table(headings, rows) {
  const cell = (name) => (value) => {
    if (value.number !== undefined) return element(name, { className: "number", textContent: value.number });
    if (value.quiet !== undefined) return element(name, { className: "quiet", textContent: value.quiet });
    return element(name, {}, [value]);
  };
  const head = element("thead", {}, [element("tr", {}, headings.map(cell("th")))]);
  const body = element("tbody", {}, rows.map((row) => element("tr", {}, row.map(cell("td")))));
  return element("div", { className: "scrolls" }, [element("table", {}, [head, body])]);
}

// The mistakes as a terminal shows them; a click leads to the place.
export function mistakes(found, onReveal) {
  return found.map((mistake) => {
    const shown = element("button", { className: `mistake ${mistake.severity}`, type: "button" }, [pre(mistake.shown.trimEnd())]);
    shown.addEventListener("click", () => onReveal(mistake.from));
    return shown;
  });
}

// A shape whose axes are buttons that explain them. Where the text is not made of known axes, it is shown as it is.
function axes({ name, shape, rows }, onExplain) {
  const parts = [];
  const add = (kind, before, behind) => {
    if (!rows[kind].length) return;
    parts.push(before);
    for (const [at, axis] of rows[kind].entries()) {
      if (at) parts.push(", ");
      const path = `${name}.${kind}.${at}`;
      const shown = element("button", { className: "axis", type: "button", textContent: String(axis), title: `Why is ${path} ${axis}?` });
      shown.setAttribute("aria-label", `${axis}: explain ${path}`);
      shown.addEventListener("click", () => onExplain(path));
      parts.push(shown);
    }
    parts.push(behind);
  };
  const inside = rows.input.length || rows.output.length;
  add("batch", "", inside ? " | " : " |");
  add("input", "", rows.output.length ? " -> " : " ->");
  add("output", "", "");
  const written = parts.map((part) => part.textContent ?? part).join("");
  return written === shape ? element("span", {}, parts) : shape;
}

export function shapes(answer, { onReveal, onExplain }) {
  const parts = mistakes(answer.mistakes, onReveal);
  const named = (name) => {
    const shown = element("button", { className: "link", type: "button", textContent: name });
    shown.title = "Explain this shape";
    shown.addEventListener("click", () => onExplain(name));
    return shown;
  };
  if (answer.dims.length) {
    const text = ([low, high]) => (high == null ? `${low} or more` : `${low} to ${high}`);
    const row = ({ name, size, range }) => [name, { number: grouped(size) }, { quiet: range ? text(range) : "" }];
    parts.push(table(["size", "value", "range"], answer.dims.map(row)));
  }
  if (answer.tensors.length) {
    const row = ({ name, shape, rows, elements, rule, how }) => [named(name), axes({ name, shape, rows }, onExplain), { number: grouped(elements) }, { quiet: rule ?? (how === "forced" ? "inferred" : how) ?? "" }];
    parts.push(table(["tensor", "shape", "elements", "how it is known"], answer.tensors.map(row)));
  }
  const { tensors, elements } = answer.parameters;
  if (tensors) parts.push(hint(`${tensors} parameter${tensors === 1 ? "" : "s"}${elements == null ? "" : ` with ${grouped(elements)} elements`}`));
  for (const condition of answer.relies_on) parts.push(hint(`relies on: ${condition}`));
  if (!parts.length) parts.push(hint("Nothing has a name yet."));
  return parts;
}

export const text = (empty) => (answer) => [answer.text.trim() ? pre(answer.text.trimEnd()) : hint(empty)];

// A program for other tools, below a choice among them.
export function code({ text, refused }, format, onChoose) {
  const formats = { c: "C", stablehlo: "StableHLO", lean: "Lean" };
  const options = Object.entries(formats).map(([value, name]) => new Option(name, value, false, value === format));
  const choice = element("select", { id: "format-of-code" }, options);
  choice.addEventListener("change", () => onChoose(choice.value));
  return [element("label", { className: "menu" }, ["Written as ", choice]), refused ? hint(refused) : pre(text.trimEnd())];
}

export function picture({ svg }) {
  // The picture is made by the engine, which escapes the names of tensors.
  const holder = element("div", { className: "scrolls picture" });
  holder.innerHTML = svg;
  return [holder];
}

export function memory({ memory, curves }) {
  const rows = memory.groups.map((group) => [group.name, { number: String(group.tensors) }, { number: bytes(group.bytes) }]);
  const parts = [table(["what", "tensors", "memory"], rows)];
  parts.push(hint(`At most ${bytes(memory.peak)} at the same time, of which ${bytes(memory.lasting)} last from run to run.`));
  for (const curve of curves) {
    const holder = element("div");
    holder.innerHTML = plot([{ name: "memory", points: curve.points }], { x: curve.name, y: "peak memory", label: bytes });
    parts.push(element("h3", { textContent: `Memory by ${curve.name} (${curve.here} here)` }), holder);
  }
  return parts;
}

// The output of a run: printed lines, progress, and losses as they go.
export class Output {
  #lines = element("pre", { className: "printed" });
  #progress = element("progress", { hidden: true });
  #losses = element("div");
  #after = element("div");
  #curves = new Map();
  #drawing = false;

  constructor(onReveal) {
    this.parts = [this.#progress, this.#losses, this.#lines, this.#after];
    this.onReveal = onReveal;
  }

  event(event) {
    if (event.what === "printed") this.#lines.append(`${event.line}\n`);
    if (event.what === "noticed") this.#after.append(hint(event.text));
    if (event.what === "compiling") {
      this.#progress.hidden = false;
      this.#progress.setAttribute("aria-label", `compiling ${event.number} of ${event.of}`);
    }
    if (event.what !== "repeated") return;
    Object.assign(this.#progress, { hidden: false, max: event.of, value: event.done });
    this.#progress.setAttribute("aria-label", `step ${event.done} of ${event.of}`);
    for (const [name, value] of event.losses) {
      if (!this.#curves.has(name)) this.#curves.set(name, { name, points: [] });
      this.#curves.get(name).points.push([event.done, value]);
    }
    if (this.#drawing) return;
    this.#drawing = true;
    requestAnimationFrame(() => this.#draw());
  }

  #draw() {
    this.#drawing = false;
    this.#losses.innerHTML = plot([...this.#curves.values()], { x: "steps", y: "loss" });
  }

  ended(message, found = []) {
    this.#draw();
    this.#progress.hidden = true;
    this.#after.append(...mistakes(found, this.onReveal), hint(message));
  }
}
