// Checks the grammar: that src/parser.c is current, that the trees of test/corpus are made, also by edits, that queries fit, that all programs and those of
// the documents have no errors, and that highlighting agrees with the lexer.
//
//   node test/check.mjs FILE
//
// FILE has the words of programs with their classes, as the example `classes` of broadloom-ide prints them. The command is `tree-sitter` of
// PATH, or the one that the variable TREE_SITTER names.

import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(dirname(fileURLToPath(import.meta.url)));
const root = dirname(dirname(here));
const command = process.env.TREE_SITTER ?? "tree-sitter";
const folder = mkdtempSync(join(tmpdir(), "loom-grammar-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
// What the command compiles is made anew: a parser of another version that is kept elsewhere would be taken for this one.
mkdirSync(join(folder, "tree-sitter"));
writeFileSync(join(folder, "tree-sitter", "config.json"), JSON.stringify({ "parser-directories": [folder] }));
const env = { ...process.env, XDG_CACHE_HOME: folder, XDG_CONFIG_HOME: folder, TREE_SITTER_SEED: "20" };

// What the command says; where it fails, that is what fails.
function ask(args, cwd = here) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, env, encoding: "utf8", maxBuffer: 1 << 28 });
  if (status !== 0) fail(`tree-sitter ${args[0]}:\n${error?.message ?? stdout + stderr}`);
  return stdout + stderr;
}

// The beginnings of captures for each class of the lexer. Inside a text, specs have colours of their own.
const CAPTURES = {
  comment: ["comment"],
  keyword: ["keyword"],
  number: ["number"],
  text: ["string", "label", "type", "number", "variable", "punctuation.special"],
  operator: ["operator"],
  punctuation: ["punctuation"],
  name: ["variable", "function", "property", "constant", "boolean", "module", "type"],
};
// A word of the language at one place, and a name for the lexer.
const CONTEXTUAL = { of: "keyword" };

function fail(text) {
  console.error(text);
  process.exit(1);
}

function checkGenerated() {
  cpSync(join(here, "grammar.js"), join(folder, "grammar.js"));
  cpSync(join(here, "tree-sitter.json"), join(folder, "tree-sitter.json"));
  ask(["generate", "--abi", "14"], folder);
  for (const name of ["parser.c", "grammar.json", "node-types.json"])
    if (readFileSync(join(folder, "src", name), "utf8") !== readFileSync(join(here, "src", name), "utf8"))
      fail(`src/${name} is not what grammar.js makes: run tree-sitter generate --abi 14`);
}

// The programs of the documents, but not those that show what cannot be parsed.
function snippets() {
  const documents = readdirSync(join(root, "docs")).filter((name) => name.endsWith(".md"));
  const found = [];
  for (const name of [...documents.map((name) => `docs/${name}`), "README.md", "CONTRIBUTING.md"]) {
    const text = readFileSync(join(root, name), "utf8");
    for (const { index, 1: program, 2: after } of text.matchAll(/^ *```loom[^\n]*\n(.*?)^ *```\n(?:```error\n([^\n]*))?/gms)) {
      if (/^error\[E01/.test(after ?? "")) continue;
      const line = text.slice(0, index).split("\n").length;
      const indent = program.match(/^ */)[0];
      const file = join(folder, `${name.replaceAll("/", "-")}-${line}.loom`);
      writeFileSync(file, program.replaceAll(new RegExp(`^${indent}`, "gm"), ""));
      found.push(file);
    }
  }
  return found;
}

function checkParsed(files) {
  ask(["parse", "--quiet", ...files]);
  const query = join(folder, "missing.scm");
  writeFileSync(query, "(missing) @missing");
  const missing = ask(["query", "--captures", query, ...files]);
  if (missing.includes("capture:")) fail(`something is missing in these programs:\n${missing}`);
}

// The innermost capture of every letter, line by line; of several captures of one node the last wins, as in Neovim.
function captures(files) {
  const shown = ask(["query", "--captures", "queries/highlights.scm", ...files]);
  const painted = new Map();
  let lines;
  for (const line of shown.split("\n")) {
    const capture = line.match(/capture: \d+ - ([\w.]+), start: \((\d+), (\d+)\), end: \((\d+), (\d+)\)/);
    if (!capture) {
      const file = files.find((file) => line === file);
      if (file) painted.set(file, (lines = readFileSync(file, "utf8").split("\n").map((text) => ({ text, names: [] }))));
      continue;
    }
    const [name, row, from, last, to] = [capture[1], ...capture.slice(2).map(Number)];
    if (row !== last) continue;
    lines[row].names.fill(name, from, to);
    for (let at = lines[row].names.length; at < to; at += 1) lines[row].names[at] = at < from ? "" : name;
  }
  return painted;
}

function checkHighlights(classes) {
  const words = readFileSync(classes, "utf8").trimEnd().split("\n").map((line) => line.split("\t"));
  const files = [...new Set(words.map(([file]) => resolve(file)))];
  const painted = captures(files);
  const wrong = [];
  for (const [file, row, from, to, word] of words) {
    const { text, names } = painted.get(resolve(file))[row - 1];
    // Columns of the lexer count units of UTF-16, those of tree-sitter bytes.
    const bytes = (column) => Buffer.byteLength(text.slice(0, column - 1));
    const written = text.slice(from - 1, to - 1);
    const accepted = written in CONTEXTUAL && word === "name" ? [CONTEXTUAL[written], ...CAPTURES.name] : CAPTURES[word];
    const odd = names.slice(bytes(from), bytes(to)).find((name) => !accepted.some((each) => name.startsWith(each)));
    if (odd !== undefined || names.length < bytes(to)) wrong.push(`${file}:${row}:${from}: ${word} \`${written}\` is ${odd || "nothing"}`);
  }
  if (wrong.length > 0 || words.length < 1000)
    fail(`${wrong.slice(0, 20).join("\n")}\n${wrong.length} of ${words.length} words differ`);
  console.log(`${words.length} words of ${files.length} programs have the class that the lexer gives them`);
  return files;
}

checkGenerated();
ask(["test"]);
// After random edits, the tree is that of a fresh parse.
const edited = ask(["fuzz", "--iterations", "100"]);
if (edited.includes("failed")) fail(edited);
for (const name of readdirSync(join(here, "queries"))) ask(["query", join("queries", name), "../../examples/xor.loom"]);
const files = checkHighlights(process.argv[2]);
const blocks = snippets();
checkParsed([...files, ...blocks]);
console.log(`${files.length} programs and ${blocks.length} of the documents are parsed whole`);
