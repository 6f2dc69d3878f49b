// The playground in a real browser. See browser.mjs for the variables.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch } from "./browser.mjs";

let browser;

before(async () => {
  browser = await launch();
});

after(() => browser?.close());

async function open(options = {}, fragment = "") {
  const page = await browser.open(fragment, options);
  await page.waitForSelector(".hint");
  return page;
}

async function write(page, text) {
  await page.locator(".cm-content").click();
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.insertText(text);
}

const panelSays = (page, pattern) =>
  page.waitForFunction((source) => new RegExp(source).test(document.getElementById("panel").innerText), pattern.source, {
    timeout: 60000,
  });

const statusSays = (page, pattern) =>
  page.waitForFunction((source) => new RegExp(source).test(document.getElementById("status").innerText), pattern.source);

const MISTAKE = "data x : 32 | 784\nlet h = relu({w : 100 -> 64} @ x)\nlet y = h |> linear(10)\n";
const LINE = `data x : 8 | 1 = [[0], [1], [2], [3], [4], [5], [6], [7]]
let loss = mean("... | ... => 0", ({a} * x + {b} - (2 * x + 1)) ** 2)
repeat 200:
  minimise loss by sgd(0.01)
print "a", a
`;

test("a mistake is shown at both ends, mended, and hints appear", async () => {
  const page = await open();
  await write(page, MISTAKE);
  await page.waitForSelector(".mistake");
  assert.match(await page.locator(".mistake").first().innerText(), /100 and 784 do not agree/);
  assert.equal(await page.locator("#status").innerText(), "1 mistake");
  assert.equal((await page.locator(".end").allInnerTexts()).join(""), "x{w : 100 -> 64}");
  await browser.shot(page, "mistake");
  await write(page, MISTAKE.replace("100 -> 64", "... -> 64"));
  await statusSays(page, /no mistakes/);
  const hints = await page.locator(".hint").allInnerTexts();
  assert.ok(hints.includes(": 32 | 64") && hints.includes(": 32 | 10"), String(hints));
  assert.match(await page.locator("#panel").innerText(), /784 -> 64/);
  assert.deepEqual(page.wrong, []);
});

test("a quick fix is offered and carried out", async () => {
  const page = await open();
  await write(page, "data x : 3\nlet y = rleu(x)\n");
  await page.waitForSelector(".cm-lintRange-error");
  await page.locator(".cm-lintRange-error").first().hover();
  await page.locator(".cm-diagnosticAction").first().click();
  await page.waitForFunction(() => document.querySelector(".cm-content").innerText.includes("relu(x)"));
});

test("shapes are explained: by hovering, and by a click in the table", async () => {
  const page = await open();
  await write(page, "data x : 32 | 784\nlet y = {w} @ x + {b : 64}\n");
  await statusSays(page, /no mistakes/);
  await page.locator(".token-leaf", { hasText: "x" }).first().hover();
  await page.waitForSelector(".hover");
  assert.match(await page.locator(".hover").innerText(), /32 \| 784/);
  await page.getByRole("button", { name: "w", exact: true }).click();
  await panelSays(page, /w.*784/);
  assert.equal(await page.locator("#tab-explanation").getAttribute("aria-selected"), "true");
  await browser.shot(page, "explanation");
  assert.deepEqual(page.wrong, []);
});

test("an axis that is clicked is explained, and so is a size after a dot under the cursor", async () => {
  const page = await open();
  await write(page, 'data x : 32 | 784\nlet y = einsum("b | i; i -> h => b | h", x, {w : ... -> 10})\nprint y.h\n');
  await statusSays(page, /no mistakes/);
  await page.getByRole("button", { name: "784: explain x.output.0" }).click();
  await panelSays(page, /x\.output\.0 is 784/);
  assert.doesNotMatch(await page.locator("#panel").innerText(), /x\.batch\.0/);
  // The tab alone explains what is under the cursor.
  await page.locator(".token-field", { hasText: "h" }).first().click();
  await page.locator("#tab-explanation").click();
  await panelSays(page, /y\.h is 10/);
  await browser.shot(page, "axis");
  assert.deepEqual(page.wrong, []);
});

test("the program is shown as code for other tools", async () => {
  const page = await open();
  await write(page, LINE);
  await statusSays(page, /no mistakes/);
  await page.getByRole("tab", { name: "Code" }).click();
  await panelSays(page, /#include/);
  for (const [format, sign] of [["stablehlo", /stablehlo\./], ["lean", /theorem/], ["c", /#include/]]) {
    await page.selectOption("#format-of-code", format);
    await panelSays(page, sign);
    assert.equal(await page.evaluate(() => document.activeElement.id), "format-of-code", "the choice keeps the focus");
  }
  await browser.shot(page, "code");
  assert.deepEqual(page.wrong, []);
});

test("completions come from the engine", async () => {
  const page = await open();
  await write(page, "data logits : 32 | 10\nlet y = soft");
  await page.keyboard.type("m");
  await page.waitForSelector(".cm-tooltip-autocomplete");
  assert.match(await page.locator(".cm-tooltip-autocomplete").innerText(), /softmax/);
});

test("a program runs, its loss is drawn, and the link has it", async () => {
  const page = await open();
  await write(page, LINE);
  await page.getByRole("button", { name: "Run" }).click();
  await panelSays(page, /Done in/);
  assert.match(await page.locator(".printed").innerText(), /^a /);
  assert.equal(await page.locator(".plot .curve").count(), 1);
  await browser.shot(page, "run");
  await page.getByRole("button", { name: "Share" }).click();
  await page.waitForFunction(() => location.hash.startsWith("#p="));
  const again = await open({}, await page.evaluate(() => location.hash));
  // Lines of the editor, without the hints in them.
  const lines = await again.locator(".cm-line").evaluateAll((all) =>
    all.map((line) => {
      const copy = line.cloneNode(true);
      copy.querySelectorAll(".hint").forEach((hint) => hint.remove());
      return copy.textContent;
    }),
  );
  assert.equal(lines.join("\n"), LINE);
  assert.deepEqual(page.wrong, []);
});

test("a link that is damaged opens the first program", async () => {
  const page = await open({}, "#p=%%%not-a-program");
  assert.match(await page.locator(".cm-content").innerText(), /data/);
  assert.deepEqual(page.wrong, []);
});

test("a long run can be stopped, and the next one goes", async () => {
  const page = await open();
  await write(page, LINE.replace("repeat 200", "repeat 100000000"));
  await page.getByRole("button", { name: "Run" }).click();
  await page.waitForSelector(".plot");
  await page.getByRole("button", { name: "Stop" }).click();
  await panelSays(page, /Stopped\./);
  await write(page, LINE);
  await page.getByRole("button", { name: "Run" }).click();
  await panelSays(page, /Done in/);
  assert.deepEqual(page.wrong, []);
});

test("every program of the menu is read without an error, and every tab shows something", async () => {
  const page = await open();
  const options = page.locator("#programs option");
  const names = await options.evaluateAll((all) => all.map((each) => each.value).filter(Boolean));
  assert.ok(names.length > 30, String(names.length));
  for (const name of names) {
    await page.selectOption("#programs", name);
    await page.waitForFunction((name) => document.body.dataset.read === name, name);
    const said = await page.locator("#status").innerText();
    assert.match(said, /^(no mistakes|\d+ warnings?)$/, name);
  }
  await page.selectOption("#programs", "sizes");
  for (const tab of ["Why", "Loops", "As it runs", "Picture", "Memory", "Functions", "Code"]) {
    await page.getByRole("tab", { name: tab, exact: true }).click();
    const shown = await page.getByRole("tab", { name: tab, exact: true }).getAttribute("data-tab");
    await page.waitForFunction((name) => document.getElementById("panel").dataset.shows === name, shown);
    assert.ok(await page.evaluate(() => document.querySelector("#panel").innerText.trim() || document.querySelector("#panel svg")), tab);
    await browser.shot(page, tab.toLowerCase().replaceAll(" ", "-"));
  }
  assert.deepEqual(page.wrong, []);
});

test("the keyboard, the dark, and a phone", async () => {
  const page = await open({ colorScheme: "dark" });
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
  await browser.shot(page, "dark");
  await page.locator("#tab-shapes").focus();
  await page.keyboard.press("ArrowRight");
  assert.equal(await page.locator("#tab-explanation").getAttribute("aria-selected"), "true");
  await page.keyboard.press("End");
  assert.equal(await page.locator("#tab-output").getAttribute("aria-selected"), "true");
  await page.keyboard.press("Home");
  assert.equal(await page.locator("#tab-shapes").getAttribute("aria-selected"), "true");
  const phone = await open({ viewport: { width: 380, height: 740 } });
  const fits = await phone.evaluate(() => document.documentElement.scrollWidth <= innerWidth);
  assert.ok(fits, "the page is wider than a phone");
  await browser.shot(phone, "phone");
});

test("the time to the first hint", async (t) => {
  const page = await open();
  const milliseconds = Math.round(await page.evaluate(() => window.firstAnswer));
  assert.ok(milliseconds > 0);
  // It is reported and not asserted: machines differ.
  t.diagnostic(`first hint ${milliseconds} ms after the page began to load`);
});
