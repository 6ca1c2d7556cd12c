import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Report } from "./report.js";
import { markdown } from "./text.js";

const HEADING = "## Last output\n";

/** Everything behind the heading is the last run's. */
export function writeDocs(report: Report): void {
  const file = fileURLToPath(new URL("../../docs/soak.md", import.meta.url));
  const text = readFileSync(file, "utf8");
  const at = text.indexOf(HEADING);
  if (at < 0) throw new Error(`docs/soak.md has no line ${JSON.stringify(HEADING.trim())} to write behind.`);
  writeFileSync(file, `${text.slice(0, at)}${HEADING}\n${markdown(report)}`);
}
