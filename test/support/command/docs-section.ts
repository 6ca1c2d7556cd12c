/** The part of a page in docs/ that a command writes: what stands between two comments that name the command. */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export interface DocsSection {
  /** In docs/. */
  readonly page: string;
  readonly name: string;
  /** The command that writes it. */
  readonly command: string;
}

export function writeSection({ page, name, command }: DocsSection, text: string): void {
  const file = fileURLToPath(new URL(`../../../docs/${page}`, import.meta.url));
  const before = `<!-- ${name}: begin, written by ${command} -->`;
  const after = `<!-- ${name}: end -->`;
  const whole = readFileSync(file, "utf8");
  const [begin, end] = [whole.indexOf(before), whole.indexOf(after)];
  if (begin < 0 || end < begin) throw new Error(`docs/${page} lacks the lines ${before} and ${after}.`);
  writeFileSync(file, `${whole.slice(0, begin)}${before}\n\n${text}\n${whole.slice(end)}`);
}
