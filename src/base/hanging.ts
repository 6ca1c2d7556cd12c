/** Long sentences on a terminal: broken between words, and in the column in which they began. */
import { wrapped } from "./text.js";

const NARROWEST = 40;

/** `lead` takes at most `indent` columns. What is no terminal gets the text as it is, which scripts can search. */
export function hanging(
  lead: string,
  text: string,
  indent: number,
  stream: { readonly isTTY?: boolean; readonly columns?: number } = process.stdout,
): string {
  if (stream.isTTY !== true || text.includes("\n")) return `${lead}${text}\n`;
  const width = Math.max(stream.columns || 80, NARROWEST);
  return `${lead}${wrapped(text, width - indent).join(`\n${" ".repeat(indent)}`)}\n`;
}
