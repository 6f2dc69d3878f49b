// Compares the TextMate grammar with the lexer: standard input has the words of programs with their classes, as the example
// `classes` of broadloom-ide prints them, and every letter of each word must have a scope of that class.

const fs = require("fs");
const path = require("path");
const oniguruma = require("vscode-oniguruma");
const { INITIAL, Registry } = require("vscode-textmate");

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
    for (const token of result.tokens) {
      for (let at = token.startIndex; at < token.endIndex; at += 1) letters[at] = token.scopes.at(-1);
    }
    return letters;
  });
}

async function main() {
  const tm = await grammar();
  const lines = fs.readFileSync(0, "utf8").trimEnd().split("\n");
  const known = new Map();
  const wrong = [];
  for (const each of lines) {
    const [file, line, start, end, word] = each.split("\t");
    // npm works in the folder of the extension; files are named from where it was started.
    const full = path.resolve(process.env.INIT_CWD ?? ".", file);
    if (!known.has(file)) known.set(file, scopes(tm, fs.readFileSync(full, "utf8")));
    for (let at = start - 1; at < end - 1; at += 1) {
      const scope = known.get(file)[line - 1][at] ?? "";
      if (!SCOPES[word].some((beginning) => scope.startsWith(beginning))) {
        wrong.push(`${file}:${line}:${at + 1}: ${word} is ${scope}`);
        break;
      }
    }
  }
  if (wrong.length > 0 || lines.length < 1000) {
    console.error(`${wrong.slice(0, 20).join("\n")}\n${wrong.length} of ${lines.length} words differ`);
    process.exit(1);
  }
  console.log(`${lines.length} words of ${known.size} programs have the class that the lexer gives them`);
}

main();
