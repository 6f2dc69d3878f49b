// A browser for tests: Chromium, headless, at a server of dist/. BROADLOOM_CHROMIUM names another browser than `chromium`; BROADLOOM_SCREENSHOTS a
// folder for pictures to look at.

import assert from "node:assert/strict";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { serve } from "../serve.mjs";

const browsers = [process.env.BROADLOOM_CHROMIUM, "/usr/bin/chromium", "/usr/bin/google-chrome"];
const executablePath = browsers.find((path) => path && existsSync(path));
const shots = process.env.BROADLOOM_SCREENSHOTS;

export async function launch() {
  assert.ok(executablePath, "there is no browser: install chromium, or name one in BROADLOOM_CHROMIUM");
  const server = await serve(0);
  const address = `http://127.0.0.1:${server.address().port}/`;
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
  if (shots) mkdirSync(shots, { recursive: true });
  return {
    address,
    // Opens a page, and collects what goes wrong in it (`wrong`) and which files it asks for (`asked`).
    async open(path, options = {}) {
      const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
      const page = Object.assign(await context.newPage(), { wrong: [], asked: [] });
      page.on("pageerror", (error) => page.wrong.push(String(error)));
      page.on("console", (message) => message.type() === "error" && page.wrong.push(message.text()));
      page.on("request", (request) => page.asked.push(new URL(request.url()).pathname));
      await page.goto(address + path);
      return page;
    },
    shot: async (page, name) => shots && page.screenshot({ path: join(shots, `${name}.png`) }),
    async close() {
      await browser.close();
      server.close();
    },
  };
}
