/** All pages with commands that people type. */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type Block, readPage } from "./page.js";

const ROOT = new URL("../", import.meta.url);

export interface Page {
  /** From the root of the checkout. */
  readonly file: string;
  /** For --only: the file's name without its ending. */
  readonly name: string;
  readonly blocks: readonly Block[];
}

export function allPages(): Page[] {
  const docs = readdirSync(new URL("docs/", ROOT)).filter((name) => name.endsWith(".md"));
  return ["README.md", "CONTRIBUTING.md", ...docs.sort().map((name) => `docs/${name}`)].map(pageAt);
}

function pageAt(file: string): Page {
  const name = file.replace(/^docs\//, "").replace(/\.md$/, "");
  try {
    return { file, name, blocks: readPage(readFileSync(fileURLToPath(new URL(file, ROOT)), "utf8")) };
  } catch (reason) {
    throw new Error(`${file}: ${(reason as Error).message}`);
  }
}
