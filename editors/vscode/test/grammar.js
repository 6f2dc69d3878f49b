// Holds the TextMate grammar against the lexer: `broadloom emit --tokens` prints the words of a program with their
// classes, and every letter of each word must have a scope of that class.

const fs = require("fs");
const path = require("path");
const { execFileSync } = require("child_process");
const oniguruma = require("vscode-oniguruma");
const { INITIAL, Registry } = require("vscode-textmate");

const root = path.join(__dirname, "../../..");
const broadloom = process.env.BROADLOOM || "broadloom";

// The beginning of the innermost scope for each class of the lexer.
const SCOPES = {
  comment: ["comment"],
  keyword: ["keyword"],
  number: ["constant.numeric"],
  text: ["string", "variable.other.interpolated"],
  operator: ["keyword.operator"],
  punctuation: ["punctuation"],
  name: ["variable", "entity.name.function"],
};

async function grammar() {
  const wasm = fs.readFileSync(require.resolve("vscode-oniguruma/release/onig.wasm")).buffer;
  await oniguruma.loadWASM(wasm);
  const registry = new Registry({
    onigLib: Promise.resolve({
      createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
      createOnigString: (text) => new oniguruma.OnigString(text),
    }),
    loadGrammar: async () => JSON.parse(fs.readFileSync(path.join(__dirname, "../syntaxes/loom.tmLanguage.json"), "utf8")),
  });
  return registry.loadGrammar("source.loom");
}

// The innermost scope of every letter, line by line.
function scopes(grammar, text) {
  let stack = INITIAL;
  return text.split("\n").map((line) => {
    const result = grammar.tokenizeLine(line, stack);
    stack = result.ruleStack;
    const letters = [];
    for (const token of result.tokens) letters.fill(token.scopes.at(-1), letters.push(...Array(token.endIndex - token.startIndex)) - (token.endIndex - token.startIndex));
    return letters;
  });
}

async function main() {
  const tm = await grammar();
  const folders = ["examples", "examples/modules", "crates/broadloom-lang/std"].map((folder) => path.join(root, folder));
  const files = folders.flatMap((folder) => fs.readdirSync(folder).filter((name) => name.endsWith(".loom")).map((name) => path.join(folder, name)));
  let words = 0;
  const wrong = [];
  for (const file of files) {
    const found = scopes(tm, fs.readFileSync(file, "utf8"));
    const lines = execFileSync(broadloom, ["emit", file, "--tokens"], { encoding: "utf8" }).trimEnd().split("\n");
    for (const each of lines) {
      // line:column-end class, columns in UTF-16 units from 1.
      const [, line, start, end, word] = each.match(/^(\d+):(\d+)-(\d+) (\w+)$/);
      words += 1;
      for (let at = start - 1; at < end - 1; at += 1) {
        const scope = found[line - 1][at] ?? "";
        if (!SCOPES[word].some((known) => scope.startsWith(known))) {
          wrong.push(`${path.relative(root, file)}:${line}:${at + 1}: ${word} is ${scope}`);
          break;
        }
      }
    }
  }
  if (wrong.length > 0 || words < 1000) {
    console.error(`${wrong.slice(0, 20).join("\n")}\n${wrong.length} of ${words} words differ`);
    process.exit(1);
  }
  console.log(`${words} words of ${files.length} programs have the class that the lexer gives them`);
}

main();
