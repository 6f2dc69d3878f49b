// Programs in the documents that are edited and run where they stand, with the editor and the engine of the playground. Loaded when a reader first
// edits or runs one.

import { createEditor } from "../editor.js";
import { Engine, loadModule } from "../engine.js";
import { toFragment } from "../link.js";
import * as panels from "../panels.js";
import { engineWithin } from "./within.js";

const element = (name, properties = {}, children = []) => {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
};

// Printed between the programs above and the one that is run: what comes before is not shown.
const MARK = "\u2063above\u2063";

const count = (number, word) => (number ? `${number} ${word}${number === 1 ? "" : "s"}` : "");

function summary(mistakes) {
  const of = (severity) => mistakes.filter((mistake) => mistake.severity === severity).length;
  return [count(of("error"), "mistake"), count(of("warning"), "warning")].filter(Boolean).join(", ") || "no mistakes";
}

// All programs of a page. One engine answers for all of them; it is fetched once.
export class Blocks {
  #all;
  #engine;

  constructor(elements) {
    this.#all = elements.map((each) => new Block(each, this));
  }

  of(element) {
    return this.#all.find((block) => block.element === element);
  }

  // The programs that a block goes on from, as they are now.
  above(block) {
    const before = this.#all.slice(0, this.#all.indexOf(block));
    return before.filter((each) => each.group === block.group && !each.isMistake).map((each) => each.text()).join("");
  }

  // After a failure the next question tries again.
  async engine() {
    const module = await loadModule();
    return (this.#engine ??= new Engine(module));
  }
}

class Block {
  #blocks;
  #original;
  #editor;
  #engine;
  #runner;
  #status = element("span", { className: "status", role: "status" });
  #answers = element("div", { className: "answers" });
  #output = element("div", { className: "output" });
  #reset = element("button", { type: "button", textContent: "Reset" });
  #stop = element("button", { type: "button", textContent: "Stop" });

  constructor(shown, blocks) {
    this.element = shown;
    this.group = shown.dataset.group;
    this.isMistake = "mistake" in shown.dataset;
    this.#blocks = blocks;
    this.#original = shown.dataset.text;
    this.#reset.addEventListener("click", () => this.#editor.replace(this.#original));
    this.#stop.addEventListener("click", () => this.#runner?.stop());
  }

  text() {
    const text = this.#editor?.text() ?? this.#original;
    return text.endsWith("\n") ? text : `${text}\n`;
  }

  #whole() {
    return this.#blocks.above(this) + this.text();
  }

  // Puts an editor in the place of the text.
  async edit() {
    if (this.#editor) return this.#editor.focus();
    const holder = element("div", { className: "editor" });
    const pre = this.element.querySelector("pre");
    pre.after(holder);
    this.#engine = engineWithin({ askLatest: async (question) => (await this.#blocks.engine()).askLatest(question) }, () =>
      this.#blocks.above(this),
    );
    this.#editor = createEditor({
      parent: holder,
      text: this.#original.replace(/\n$/, ""),
      engine: this.#engine,
      onEdit: () => this.#check(),
      onRun: () => this.run(),
      onFormat: () => this.#format(),
      onCursor: () => {},
      linesAbove: () => this.#blocks.above(this).split("\n").length - 1,
    });
    pre.hidden = true;
    const bar = this.element.querySelector(".bar");
    bar.querySelector("[aria-label='Edit this program']").remove();
    const open = element("button", { type: "button", textContent: "Playground", title: "Open the program in the playground" });
    open.addEventListener("click", async () => location.assign(`../index.html${await toFragment(this.#whole())}`));
    bar.append(this.#reset, open, this.#status);
    this.element.append(this.#output, this.#answers);
    this.#editor.focus();
    await this.#check();
  }

  // Shows what is known of the text: mistakes where they are and in full, shapes beside names and as a table.
  async #check() {
    const text = this.#editor.text();
    this.#reset.disabled = text === this.#original.replace(/\n$/, "");
    if (!this.#status.textContent) this.#status.textContent = "loading…";
    try {
      const answer = await this.#engine.askLatest({ ask: "edit", text });
      if (!answer) return;
      this.#editor.show(text, { ...answer, mistakes: answer.mistakes.filter(({ above }) => !above) });
      this.#status.textContent = summary(answer.mistakes);
      this.#status.classList.toggle("wrong", !answer.ok);
      this.#show(answer);
    } catch (error) {
      this.#status.textContent = error.message;
    }
  }

  #show(answer) {
    const explanation = element("div");
    const actions = {
      onReveal: (at) => this.#editor.reveal(at),
      onExplain: async (name) => {
        const engine = await this.#blocks.engine();
        const found = await engine.ask({ ask: "explain", text: this.#whole(), name }).catch((error) => ({ text: error.message }));
        explanation.replaceChildren(...panels.text("")(found));
      },
    };
    const mistakes = panels.mistakes(answer.mistakes, actions.onReveal);
    const shapes = panels.shapes({ ...answer, mistakes: [] }, actions);
    const wasClosed = this.#answers.querySelector("details")?.open === false;
    const details = element("details", { open: !wasClosed }, [element("summary", { textContent: "Shapes" }), ...shapes, explanation]);
    this.#answers.replaceChildren(...mistakes, details);
  }

  async #format() {
    const [engine, text] = [await this.#blocks.engine(), this.#editor.text()];
    const edits = await engine.ask({ ask: "format", text });
    if (edits.length && text === this.#editor.text()) this.#editor.change(edits);
  }

  // Runs the program with those above it, in a thread of its own.
  async run() {
    if (this.#stop.isConnected) return;
    const bar = this.element.querySelector(".bar");
    const output = new panels.Output((at) => this.#reveal(at));
    if (!this.#output.isConnected) bar.after(this.#output);
    this.#output.replaceChildren(...output.parts);
    bar.append(this.#stop);
    const begun = performance.now();
    try {
      this.#runner = new Engine(await loadModule());
      const mistakes = await this.#runIn(this.#runner, output);
      const seconds = ((performance.now() - begun) / 1000).toFixed(1);
      output.ended(mistakes.length ? "The run ended with a mistake." : `Done in ${seconds} s.`, mistakes);
    } catch (error) {
      output.ended(error.message);
    } finally {
      this.#runner?.end();
      this.#runner = undefined;
      this.#stop.remove();
    }
  }

  // Shows what the program itself does; returns its mistakes.
  async #runIn(engine, output) {
    const run = async (text) => (await engine.ask({ ask: "run", text, seed: 0 })).mistakes;
    const above = this.#blocks.above(this);
    let isAbove = /^\s*(print|repeat)\b/m.test(above);
    engine.onEvent = (event) => {
      if (!isAbove) output.event(event);
      else if (event.what === "printed" && event.line.includes(MARK)) isAbove = false;
    };
    if (!isAbove) return run(this.#whole());
    const mistakes = await run(`${above}print "${MARK}"\n${this.text()}`);
    isAbove = true;
    // Their lines and places are those of the program without the mark.
    return mistakes.length ? run(this.#whole()) : mistakes;
  }

  // Positions of a run count from the first program above.
  async #reveal(at) {
    const offset = this.#blocks.above(this).length;
    if (at < offset) return;
    await this.edit();
    this.#editor.reveal(at - offset);
  }
}
