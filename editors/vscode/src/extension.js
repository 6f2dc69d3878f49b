// The extension: it finds the command `broadloom`, starts its language server, and has commands that run it in a terminal.

const fs = require("fs");
const path = require("path");
const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

// The command: by setting, then in PATH, then the one that the extension brings along.
function command(context) {
  const set = vscode.workspace.getConfiguration("broadloom").get("path");
  if (set) return set;
  const name = process.platform === "win32" ? "broadloom.exe" : "broadloom";
  const folders = (process.env.PATH || "").split(path.delimiter).filter((folder) => folder !== "");
  const found = folders.map((folder) => path.join(folder, name)).find(isProgram);
  if (found) return found;
  const bundled = context.asAbsolutePath(path.join("bin", name));
  return isProgram(bundled) ? bundled : undefined;
}

function isProgram(file) {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}

async function start(context) {
  const program = command(context);
  if (!program) {
    const settings = "Open settings";
    const message =
      "The command `broadloom` was not found. Install it (`cargo install --path crates/broadloom-cli`), or name it in the setting `broadloom.path`.";
    const chosen = await vscode.window.showErrorMessage(message, settings);
    if (chosen === settings) vscode.commands.executeCommand("workbench.action.openSettings", "broadloom.path");
    return;
  }
  const selector = [{ language: "loom" }, { language: "rows" }];
  const watcher = vscode.workspace.createFileSystemWatcher("**/*.loom");
  context.subscriptions.push(watcher);
  client = new LanguageClient(
    "broadloom",
    "Broadloom",
    { command: program, args: ["lsp"] },
    { documentSelector: selector, synchronize: { fileEvents: watcher } },
  );
  try {
    await client.start();
  } catch (error) {
    vscode.window.showErrorMessage(`${program} lsp could not be started: ${error.message}`);
  }
}

// Saves a program and runs a command on it in a terminal.
async function inTerminal(context, uri, words) {
  const document = await vscode.workspace.openTextDocument(uri);
  if (document.isUntitled) {
    vscode.window.showErrorMessage("Save the program first: it is run as a file.");
    return;
  }
  await document.save();
  const program = command(context);
  if (!program) return;
  // The shell is left out: the names of files may contain anything.
  const terminal = vscode.window.createTerminal({
    name: `broadloom ${words[0]}`,
    shellPath: program,
    shellArgs: [words[0], document.uri.fsPath, ...words.slice(1)],
    isTransient: true,
  });
  terminal.show(true);
}

function current(address) {
  if (typeof address === "string") return vscode.Uri.parse(address);
  return address instanceof vscode.Uri ? address : vscode.window.activeTextEditor?.document.uri;
}

async function activate(context) {
  const register = (name, action) => context.subscriptions.push(vscode.commands.registerCommand(name, action));
  register("broadloom.run", (address) => {
    const uri = current(address);
    return uri && inTerminal(context, uri, ["run"]);
  });
  register("broadloom.explain", async (address, name) => {
    const uri = current(address);
    const prompt = "A tensor, an axis or a size: y, y.h, batch";
    const wanted = name ?? (await vscode.window.showInputBox({ prompt }));
    return uri && wanted && inTerminal(context, uri, ["explain", wanted]);
  });
  register("broadloom.restart", async () => {
    await client?.stop();
    client = undefined;
    await start(context);
  });
  await start(context);
}

function deactivate() {
  return client?.stop();
}

module.exports = { activate, deactivate };
