/** The distribution's own Chromium, headless, driven by playwright-core; no browser is ever downloaded. */
import { existsSync } from "node:fs";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";

const PLACES = [process.env.CHROMIUM ?? "", "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

export const hasChromium = (): boolean => {
  if (found() !== undefined) return true;
  const message = "Chromium missing: apt-get install chromium, or name one in CHROMIUM.";
  if (process.env.DRAWBRIDGE_REQUIRE_PEERS === "1") throw new Error(message);
  process.stderr.write(`skipped: ${message}\n`);
  return false;
};

/** `wrapped`: another executable that ends as the given one, say in a network of its own. */
export const startBrowser = (wrapped = (executable: string): string => executable): Promise<Browser> =>
  chromium.launch({
    executablePath: wrapped(found() as string),
    // The first start reads all of it from the disk.
    timeout: 120_000,
    // Root has no other way, and the machine no graphics card.
    args: ["--no-sandbox", "--disable-gpu", "--force-color-profile=srgb"],
  });

/** A page whose complaints are kept. */
export async function watchedPage(
  browser: Browser,
  options: BrowserContextOptions = {},
): Promise<{ page: Page; complaints: string[] }> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
  });
  return { page, complaints };
}

const found = (): string | undefined => PLACES.find((path) => path !== "" && existsSync(path));
