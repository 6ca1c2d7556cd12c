/** Long sentences on a terminal: broken between words, and in the column in which they began. */
import { wrapped } from "./text.js";

const NARROWEST = 40;

/** `lead` takes at most `indent` columns. What is no terminal gets one line, which scripts can search. */
export function hanging(
  lead: string,
  text: string,
  indent: number,
  stream: { readonly isTTY?: boolean; readonly columns?: number } = process.stdout,
): string {
  const width = stream.isTTY === true ? Math.max(stream.columns || 80, NARROWEST) : Infinity;
  return `${lead}${wrapped(text, width - indent).join(`\n${" ".repeat(indent)}`)}\n`;
}
