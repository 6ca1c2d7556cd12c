/** docs/troubleshooting.md as the table sees it: a row of the page for each mistake, found by its anchor. */
import { readFileSync } from "node:fs";

const PAGE = new URL("../../../docs/troubleshooting.md", import.meta.url);
const ANCHOR = /<a id="([a-z0-9-]+)"><\/a>/;

export interface PageRow {
  readonly id: string;
  /** What stands in code spans of the first column: words that the programs say, `...` for anything. */
  readonly quotes: readonly string[];
  readonly cells: readonly string[];
}

export function pageRows(markdown = readFileSync(PAGE, "utf8")): Map<string, PageRow> {
  const rows = new Map<string, PageRow>();
  for (const line of markdown.split("\n")) {
    const id = ANCHOR.exec(line)?.[1];
    if (id === undefined || !line.startsWith("|")) continue;
    const cells = line
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.replaceAll("\\|", "|").trim());
    const quotes = [...(cells[0] ?? "").matchAll(/`([^`]+)`/g)].map(([, quote = ""]) => quote);
    if (rows.has(id)) throw new Error(`docs/troubleshooting.md has two rows ${id}`);
    rows.set(id, { id, quotes, cells });
  }
  return rows;
}

/** The quotes that nobody said. */
export function unsaid(row: PageRow, texts: readonly string[]): string[] {
  return row.quotes.filter((quote) => {
    const pattern = quote.split("...").map((part) =>
      part
        .trim()
        .replace(/[.*+?^${}()|[\]\\]/g, "\\$&")
        .replace(/\s+/g, "\\s+"),
    );
    const regexp = new RegExp(pattern.join("[\\s\\S]{0,400}?"));
    return !texts.some((text) => regexp.test(text));
  });
}
