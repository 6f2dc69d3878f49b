// The documents in a real browser, and their links. See browser.mjs for the variables.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { launch } from "./browser.mjs";
import { PAGES, REPOSITORY } from "../site/pages.mjs";

const dist = join(dirname(dirname(fileURLToPath(import.meta.url))), "dist");
let browser;

before(async () => {
  browser = await launch();
});

after(() => browser?.close());

const open = (name, options = {}) => browser.open(`docs/${name}`, options);

const program = (page, text) => page.locator(".program", { hasText: text }).first();

async function write(block, page, text) {
  await block.locator(".cm-content").click();
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.insertText(text);
}

const says = (locator, pattern) =>
  locator.evaluate(
    (element, source) =>
      new Promise((resolve, reject) => {
        const begun = performance.now();
        const look = () => {
          if (new RegExp(source).test(element.innerText)) resolve();
          else if (performance.now() - begun > 30000) reject(new Error(`${source} is not in ${element.innerText}`));
          else setTimeout(look, 50);
        };
        look();
      }),
    pattern.source,
  );

test("every link between pages leads to a page and a heading", () => {
  const files = new Map(readdirSync(join(dist, "docs")).map((name) => [name, readFileSync(join(dist, "docs", name), "utf8")]));
  let links = 0;
  for (const { name } of PAGES) {
    const html = files.get(`${name}.html`);
    const ids = [...html.matchAll(/ id="([^"]+)"/g)].map((found) => found[1]);
    assert.equal(new Set(ids).size, ids.length, `${name}: two elements have one id`);
    for (const [, link] of html.matchAll(/ href="([^"]+)"/g)) {
      if (/^(https?:|data:|\.\.\/)/.test(link)) continue;
      links += 1;
      const [file, anchor] = link.split("#");
      const target = file ? files.get(file) : html;
      assert.ok(target, `${name}: ${link} leads to no page`);
      if (anchor) assert.ok(target.includes(` id="${anchor}"`), `${name}: ${link} leads to no heading`);
    }
  }
  assert.ok(links > 500, String(links));
  assert.ok(files.get("index.html").includes(`${REPOSITORY}/tree/main/examples`));
});

test("a page shows shapes and mistakes without the engine", async () => {
  const page = await open("index.html");
  const first = program(page, "data target : 32 | 12");
  assert.equal((await first.locator(".wrong-error").allInnerTexts()).join(""), "y - target");
  assert.ok((await first.locator(".token-keyword").count()) > 3);
  await page.goto(`${browser.address}docs/tutorial.html`);
  const hints = await page.locator(".program .hint").count();
  assert.ok(hints > 10, String(hints));
  assert.deepEqual(page.asked.filter((path) => /wasm|block|search/.test(path)), []);
  await browser.shot(page, "docs-light");
  assert.deepEqual(page.wrong, []);
});

test("a program is edited: its mistake is underlined at both ends, its shapes appear, and it runs", async () => {
  const page = await open("index.html");
  const block = program(page, "data target : 32 | 12");
  await block.getByRole("button", { name: "Edit" }).click();
  await says(block, /1 mistake/);
  assert.ok((await block.locator(".cm-lintRange-error").count()) > 0);
  assert.match(await block.locator(".mistake").innerText(), /cannot be both 10 and 12/);
  assert.ok((await block.locator(".cm-content .end").count()) > 0);
  await browser.shot(page, "docs-mistake");
  const text = await block.getAttribute("data-text");
  const filled = text.replace("32 | 784", "32 | 784 = normal(1)").replace("32 | 12", "32 | 10 = normal(1)");
  await write(block, page, `${filled}print "the loss is", loss`);
  await says(block, /no mistakes/);
  const hints = await block.locator(".cm-content .hint").allInnerTexts();
  assert.ok(hints.includes(": 32 | 10"), String(hints));
  assert.match(await block.locator(".answers").innerText(), /dense\.w\s+784 -> 64/);
  await block.getByRole("button", { name: "Run" }).click();
  await says(block.locator(".output"), /the loss is \d[^]*Done in/);
  await browser.shot(page, "docs-run");
  assert.equal(page.asked.filter((path) => path.includes(".wasm")).length, 1, "the engine is fetched once");
  await block.getByRole("button", { name: "Reset" }).click();
  await says(block, /1 mistake/);
  assert.deepEqual(page.wrong, []);
});

test("programs of the tutorial go on from those above them", async () => {
  const page = await open("tutorial.html");
  const groups = await page.locator(".program").evaluateAll((all) => all.map((each) => each.dataset.group));
  const at = groups.findIndex((group, at) => at > 0 && group === groups[at - 1]);
  const shown = await page.locator(".program").nth(at).evaluate((program) => program.nextElementSibling.innerText);
  const block = page.locator(".program").nth(at);
  await block.getByRole("button", { name: "Run" }).click();
  await says(block.locator(".output"), /Done in/);
  assert.equal((await block.locator(".printed").innerText()).trim(), shown.trim(), "what those above print is not shown");
  await block.getByRole("button", { name: "Edit" }).click();
  await says(block.locator(".status"), /no mistakes|warning/);
  const number = await block.locator(".cm-lineNumbers .cm-gutterElement:visible").first().innerText();
  assert.ok(Number(number) > 1, `lines are counted from ${number}`);
  // A mistake above is said, and has no place here.
  const above = page.locator(".program").nth(at - 1);
  await above.getByRole("button", { name: "Edit" }).click();
  await says(above.locator(".status"), /no mistakes|warning/);
  await above.locator(".cm-content").click();
  await page.keyboard.press("ControlOrMeta+End");
  await page.keyboard.insertText("\nlet broken = nowhere");
  await says(above.locator(".status"), /1 mistake/);
  await block.locator(".cm-content").click();
  await page.keyboard.press("End");
  await page.keyboard.type(" ");
  await says(block.locator(".answers"), /nowhere/);
  assert.equal(await block.locator(".cm-lintRange-error").count(), 0);
  assert.deepEqual(page.wrong, []);
});

test("every program of the documents has the mistakes that its document shows, and no others", async () => {
  for (const { name } of PAGES) {
    const html = readFileSync(join(dist, "docs", `${name}.html`), "utf8");
    // A program, and the block after it if nothing stands between.
    const found = html.matchAll(/<div class="program"([^>]*)>(.*?)<\/pre><\/div>\n(?:<pre class="block block-(\w+)")?/gs);
    for (const [, attributes, code, next] of found) {
      const isWrong = code.includes("wrong-error");
      const isMeant = attributes.includes("data-mistake") || next === (name === "index" ? "console" : "error");
      assert.ok(!isWrong || isMeant, `${name}: a program has a mistake: ${code.slice(0, 200)}`);
    }
  }
});

test("the search finds a word, by the keyboard alone", async () => {
  const page = await open("index.html");
  await page.keyboard.press("/");
  await page.keyboard.type("dilation");
  await page.waitForSelector("#found [role=option]");
  assert.match(await page.locator("#found").innerText(), /Strides and windows/);
  await browser.shot(page, "docs-search");
  await page.keyboard.press("ArrowDown");
  assert.equal(await page.locator("#found [aria-selected=true]").getAttribute("id"), "found-1");
  await page.keyboard.press("ArrowUp");
  const link = await page.locator("#found [aria-selected=true]").getAttribute("href");
  await page.keyboard.press("Enter");
  await page.waitForURL(`**/${link}`);
  await page.keyboard.press("/");
  await page.keyboard.type("xyzzyplugh");
  await says(page.locator("#found"), /Nothing was found/);
  await page.keyboard.press("Escape");
  assert.equal(await page.locator("#found").isHidden(), true);
  assert.deepEqual(page.wrong, []);
});

test("dark, phones, and the keyboard", async () => {
  const dark = await open("tutorial.html", { colorScheme: "dark" });
  assert.equal(await dark.evaluate(() => document.documentElement.dataset.theme), "dark");
  await browser.shot(dark, "docs-dark");
  await dark.getByRole("button", { name: "Dark" }).click();
  await dark.reload();
  assert.equal(await dark.evaluate(() => document.documentElement.dataset.theme), "light", "the choice is kept");
  await dark.keyboard.press("Tab");
  assert.equal(await dark.evaluate(() => document.activeElement.textContent), "Skip to the text");

  const phone = await open("index.html", { viewport: { width: 380, height: 740 } });
  await phone.getByRole("button", { name: "Menu" }).click();
  await browser.shot(phone, "docs-phone-menu");
  // The bar stays above the menu, so that it can be closed.
  await phone.getByRole("button", { name: "Menu" }).click();
  assert.equal(await phone.locator("#navigation").isHidden(), true);
  await phone.getByRole("button", { name: "Menu" }).click();
  await phone.locator("#navigation").getByRole("link", { name: "Tutorial" }).click();
  await phone.waitForURL("**/tutorial.html");
  for (const { name } of PAGES) {
    await phone.goto(`${browser.address}docs/${name}.html`);
    const width = await phone.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(width <= 380, `${name} is ${width} wide on a phone`);
    if (name === "notation") await browser.shot(phone, "docs-phone");
  }
  assert.deepEqual([...dark.wrong, ...phone.wrong], []);
});
