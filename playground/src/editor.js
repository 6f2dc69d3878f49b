// The editor: colours, hints, mistakes at both ends, hovers and completions, all from the engine.

import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { bracketMatching, indentUnit } from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { EditorState, Prec, StateEffect, StateField } from "@codemirror/state";
import {
  Decoration, EditorView, WidgetType, drawSelection, highlightActiveLine, hoverTooltip, keymap, lineNumbers,
} from "@codemirror/view";
import { fromMarkdown } from "./markdown.js";

class Hint extends WidgetType {
  constructor(text) {
    super();
    this.text = text;
  }
  eq(other) {
    return other.text === this.text;
  }
  toDOM() {
    const shown = document.createElement("span");
    shown.className = "hint";
    shown.textContent = this.text;
    // Screen readers read the program; the table of shapes says the same as hints.
    shown.setAttribute("aria-hidden", "true");
    return shown;
  }
}

const decorate = StateEffect.define();

// Decorations move with the text until the next answer comes.
const decorations = StateField.define({
  create: () => Decoration.none,
  update(value, transaction) {
    value = value.map(transaction.changes);
    for (const effect of transaction.effects) if (effect.is(decorate)) value = effect.value;
    return value;
  },
  provide: (field) => EditorView.decorations.from(field),
});

function decorationsOf({ tokens, hints, mistakes }) {
  const all = [];
  for (const { from, to, class: kind } of tokens)
    if (to > from) all.push(Decoration.mark({ class: `token-${kind}` }).range(from, to));
  for (const { at, text } of hints) all.push(Decoration.widget({ widget: new Hint(text), side: 1 }).range(at));
  for (const { labels, severity } of mistakes)
    for (const { from, to, text, primary } of labels)
      if (!primary && to > from)
        all.push(Decoration.mark({ class: `end end-${severity}`, attributes: { title: text } }).range(from, to));
  return Decoration.set(all, true);
}

function diagnosticsOf(mistakes, length) {
  return mistakes.map(({ from, to, severity, code, message, labels, help, fixes }) => ({
    from: Math.min(from, length),
    to: Math.min(Math.max(to, from), length),
    severity: severity === "note" ? "info" : severity,
    source: code,
    message,
    renderMessage: () => {
      const shown = document.createElement("div");
      const add = (kind, text) => {
        const line = shown.appendChild(document.createElement("div"));
        line.className = kind;
        line.textContent = text;
      };
      add("message", message);
      for (const label of labels) if (label.text) add("label", label.text);
      for (const each of help) add("help", `help: ${each}`);
      return shown;
    },
    actions: fixes.map(({ title, edits }) => ({
      name: title,
      apply: (view) => view.dispatch({ changes: edits.map((edit) => ({ from: edit.from, to: edit.to, insert: edit.text })) }),
    })),
  }));
}

// `linesAbove` is how many lines of the program stand above the text, for the numbers of lines.
export function createEditor({ parent, text, engine, onEdit, onRun, onFormat, onCursor, linesAbove = () => 0 }) {
  const hover = hoverTooltip(async (view, at) => {
    const found = await engine.askLatest({ ask: "hover", text: view.state.doc.toString(), at }).catch(() => null);
    if (!found) return null;
    const create = () => ({ dom: fromMarkdown(found.markdown, "hover") });
    return { pos: found.from, end: found.to, above: true, create };
  });
  const complete = async (context) => {
    const word = context.matchBefore(/[\w]*/);
    const before = context.state.sliceDoc(Math.max(0, word.from - 1), word.from);
    if (word.from === word.to && before !== "." && !context.explicit) return null;
    const asked = { ask: "complete", text: context.state.doc.toString(), at: context.pos };
    const found = await engine.askLatest(asked).catch(() => undefined);
    if (!found || context.aborted) return null;
    const options = found.completions.map(({ label, kind, detail, documentation }) => ({
      label,
      type: kind,
      detail,
      info: documentation,
    }));
    // In a spec of letters each letter is a label: the one before the cursor is not the beginning of the next.
    const from = found.from ?? word.from;
    return { from, options, validFor: from === word.from ? /^\w*$/ : undefined };
  };
  const commands = [
    { key: "Mod-Enter", run: () => (onRun(), true) },
    { key: "Shift-Alt-f", run: () => (onFormat(), true) },
  ];
  const view = new EditorView({
    parent,
    doc: text,
    extensions: [
      Prec.highest(keymap.of(commands)),
      lineNumbers({ formatNumber: (line) => String(line + linesAbove()) }),
      lintGutter(),
      history(),
      drawSelection(),
      indentUnit.of("  "),
      EditorState.tabSize.of(2),
      bracketMatching(),
      closeBrackets(),
      highlightActiveLine(),
      highlightSelectionMatches(),
      autocompletion({ override: [complete] }),
      hover,
      decorations,
      EditorView.contentAttributes.of({ "aria-label": "Program", autocapitalize: "off", spellcheck: "false" }),
      // Tab indents; Escape and then Tab leaves the editor, for those without a mouse.
      keymap.of([...closeBracketsKeymap, ...completionKeymap, ...lintKeymap, ...searchKeymap, ...historyKeymap, ...defaultKeymap, indentWithTab]),
      EditorView.updateListener.of((update) => {
        if (update.docChanged) onEdit(update.state.doc.toString());
        else if (update.selectionSet) onCursor(update.state.selection.main.head);
      }),
    ],
  });
  return {
    text: () => view.state.doc.toString(),
    cursor: () => view.state.selection.main.head,
    replace(text) {
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text }, selection: { anchor: 0 } });
    },
    change(edits) {
      view.dispatch({ changes: edits.map(({ from, to, text }) => ({ from, to, insert: text })) });
    },
    // Shows what is known of a text, if it is still the one that is there.
    show(text, answer) {
      if (text !== view.state.doc.toString()) return;
      const length = view.state.doc.length;
      view.dispatch({ effects: decorate.of(decorationsOf(answer)) });
      view.dispatch(setDiagnostics(view.state, diagnosticsOf(answer.mistakes, length)));
    },
    reveal(at) {
      view.dispatch({ selection: { anchor: Math.min(at, view.state.doc.length) }, scrollIntoView: true });
      view.focus();
    },
    focus: () => view.focus(),
  };
}
