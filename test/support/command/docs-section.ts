/** The part of a page in docs/ that a command writes: what stands between two comments that name the command. */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export interface DocsSection {
  /** In docs/, or ../README.md. */
  readonly page: string;
  readonly name: string;
  /** The command that writes it. */
  readonly command: string;
}

export function writeSection(section: DocsSection, text: string): void {
  const file = fileURLToPath(new URL(`../../../docs/${section.page}`, import.meta.url));
  writeFileSync(file, withSection(readFileSync(file, "utf8"), section, text));
}

/** The page with that text instead of what stood there. */
export function withSection(whole: string, { page, name, command }: DocsSection, text: string): string {
  const before = `<!-- ${name}: begin, written by ${command} -->`;
  const after = `<!-- ${name}: end -->`;
  const [begin, end] = [whole.indexOf(before), whole.indexOf(after)];
  if (begin < 0 || end < begin) throw new Error(`docs/${page} lacks the lines ${before} and ${after}.`);
  return `${whole.slice(0, begin)}${before}\n\n${text}\n${whole.slice(end)}`;
}
