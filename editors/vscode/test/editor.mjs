// VS Code itself with this extension, driven like a user would: it opens a program with a mistake, sees the mistake and the shapes, and
// takes a quick fix. `for_tests FOLDER` installs the editor, as a server with a page, and BROADLOOM_VSCODE names that folder; BROADLOOM is the
// command; BROADLOOM_SCREENSHOTS a folder for pictures to look at. The extension is the one that `npm run package` made.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(dirname(fileURLToPath(import.meta.url)));
const tools = process.env.BROADLOOM_VSCODE;
assert.ok(tools, "BROADLOOM_VSCODE names the folder in which `for_tests` has put the editor");
const { chromium } = createRequire(join(tools, "package.json"))("playwright-core");
const server = join(tools, "node_modules/code-server/out/node/entry.js");
const command = resolve(process.env.BROADLOOM ?? "target/release/broadloom");
const browsers = [process.env.BROADLOOM_CHROMIUM, "/usr/bin/chromium", "/usr/bin/google-chrome"];
const executablePath = browsers.find((path) => path && existsSync(path));
assert.ok(executablePath, "there is no browser: install chromium, or name one in BROADLOOM_CHROMIUM");
const shots = process.env.BROADLOOM_SCREENSHOTS;
const { name, version } = JSON.parse(readFileSync(join(here, "package.json"), "utf8"));

// A mistake that has a fix: `linear(10)` beside a target of 12.
const program = `data x : 32 | 784
data target : 32 | 12
let y = x |> linear(64) |> linear(10)
let loss = mean(square(y - target))
`;

const folder = mkdtempSync(join(tmpdir(), "broadloom-vscode-"));
const [work, data, extensions] = ["work", "data", "extensions"].map((part) => join(folder, part));
const file = join(work, "model.loom");
const own = ["--user-data-dir", data, "--extensions-dir", extensions];
// Nobody's own configuration has a say.
const environment = { ...process.env, HOME: folder, XDG_CONFIG_HOME: folder, XDG_DATA_HOME: folder };

function prepare() {
  for (const part of [work, join(data, "User")]) mkdirSync(part, { recursive: true });
  writeFileSync(file, program);
  const settings = {
    "broadloom.path": command,
    "security.workspace.trust.enabled": false,
    "workbench.startupEditor": "none",
    "workbench.tips.enabled": false,
    "telemetry.telemetryLevel": "off",
    "extensions.ignoreRecommendations": true,
    "files.autoSave": "off",
  };
  writeFileSync(join(data, "User/settings.json"), JSON.stringify(settings));
  const vsix = join(here, `${name}-${version}.vsix`);
  const installed = spawnSync(process.execPath, [server, ...own, "--install-extension", vsix], { env: environment, encoding: "utf8" });
  assert.equal(installed.status, 0, installed.stdout + installed.stderr);
}

// A port that nobody listens at.
function freePort() {
  return new Promise((found) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => found(port));
    });
  });
}

async function started(port) {
  editor = spawn(process.execPath, [server, ...own, "--auth", "none", "--bind-addr", `127.0.0.1:${port}`, "--disable-telemetry", work], {
    env: environment,
    // It has children of its own: all of them are one group, which is ended at once.
    detached: true,
  });
  let said = "";
  for (const stream of [editor.stdout, editor.stderr]) stream.on("data", (text) => (said += text));
  for (let tries = 0; tries < 300; tries++) {
    assert.equal(editor.exitCode, null, `the editor ended: ${said}`);
    if (await fetch(`http://127.0.0.1:${port}/healthz`).then((answer) => answer.ok, () => false)) return;
    await new Promise((later) => setTimeout(later, 100));
  }
  throw new Error(`the editor does not answer: ${said}`);
}

const shot = async (page, name) => {
  if (!shots) return;
  mkdirSync(shots, { recursive: true });
  await page.screenshot({ path: join(shots, `vscode-${name}.png`) });
};

// The text of all lines, hints among them, with plain blanks.
const text = async (page) => (await page.locator(".view-lines").first().innerText()).replaceAll("\u00a0", " ");

async function eventually(page, what, condition) {
  const end = Date.now() + 60_000;
  for (;;) {
    const seen = await text(page);
    if (condition(seen)) return;
    if (Date.now() > end) {
      await shot(page, "failed");
      throw new Error(`waited in vain for ${what}; the editor shows:\n${seen}`);
    }
    await page.waitForTimeout(200);
  }
}

async function tried(page, port) {
  await page.goto(`http://127.0.0.1:${port}/?folder=${encodeURIComponent(work)}`);
  await page.getByRole("treeitem", { name: "model.loom" }).first().dblclick();
  await page.locator(".view-lines").first().waitFor();

  // The mistake is underlined, and listed with both of its ends.
  await page.locator(".squiggly-error").first().waitFor({ timeout: 60_000 });
  await page.keyboard.press("Control+Shift+M");
  const problem = page.getByText("cannot be both 10 and 12").first();
  await problem.waitFor({ timeout: 20_000 });
  const listed = (await page.locator(".markers-panel").innerText()).replaceAll("\u00a0", " ");
  for (const part of ["E0301", "12 because of", "10 because of"]) assert.ok(listed.includes(part), `no ${part} in: ${listed}`);
  // Shapes are shown beside names although something is wrong.
  await eventually(page, "a hint beside `y`", (seen) => seen.includes("let y: 32 | 10 = x"));
  await shot(page, "mistake");

  // The quick fix at the mistake is taken by the keyboard.
  await problem.dblclick();
  await page.locator(".monaco-editor .view-line", { hasText: "let loss" }).first().click({ position: { x: 230, y: 8 } });
  await page.keyboard.press("Control+.");
  const fixes = page.locator(".action-widget .monaco-list-row.action");
  await fixes.first().waitFor({ timeout: 20_000 });
  const offered = await fixes.allInnerTexts();
  const wanted = offered.findIndex((each) => each.includes("linear(12)") || each.includes("32 | 10"));
  assert.ok(wanted >= 0, `no fix for it among: ${offered.join("; ")}`);
  await shot(page, "fixes");
  // The menu has the first fix selected; a pane over it takes clicks.
  for (let step = 0; step < wanted; step++) await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.locator(".squiggly-error").first().waitFor({ state: "detached", timeout: 60_000 });
  await eventually(page, "the hint of the loss", (seen) => /let loss: \(\)/.test(seen));
  await shot(page, "mended");

  // What it wrote is a program without mistakes, by the word of the command.
  await page.keyboard.press("Control+s");
  const end = Date.now() + 20_000;
  while (readFileSync(file, "utf8") === program && Date.now() < end) await page.waitForTimeout(100);
  const checked = spawnSync(command, ["check", file], { encoding: "utf8" });
  assert.equal(checked.status, 0, checked.stdout + checked.stderr);
  return offered[wanted].trim();
}

let editor;
let browser;
try {
  prepare();
  const port = await freePort();
  await started(port);
  browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  try {
    const fix = await tried(page, port);
    console.log(`VS Code shows shapes, both ends of a mistake, and mends it: ${fix}`);
  } catch (error) {
    await shot(page, "failed");
    throw error;
  }
} finally {
  await browser?.close();
  if (editor && editor.exitCode === null) process.kill(-editor.pid);
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}
