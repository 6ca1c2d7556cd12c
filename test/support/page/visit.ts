/** What every test of the page does with it. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";

export async function logIn(page: Page, address: string, token: string): Promise<void> {
  await page.goto(address);
  await page.fill("#token", token);
  await page.click("button[type=submit]");
  await page.waitForSelector("header");
}

/** How much of the page is beside the screen. */
export const overflow = (page: Page): Promise<number> =>
  page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");

/** What axe calls serious or worse. */
export async function barriers(page: Page): Promise<string[]> {
  const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
  // The page's own policy forbids foreign scripts; the debugger's evaluation is not one.
  await page.evaluate(axe);
  const violations = (await page.evaluate("axe.run().then(({ violations }) => violations)")) as {
    id: string;
    impact: string;
    nodes: { html: string }[];
  }[];
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`);
}
