/** Objects in the midst of other text, as logs have them: JSON in a line, and Secrets over several lines. */
import { withoutJsonSecrets } from "./structure.js";

const SECRET_REMOVED = "[a Secret removed]";
const SECRET_IN_LINE =
  /\\{0,8}"kind\\{0,8}"[ \t]{0,9}:[ \t]{0,9}\\{0,8}"Secret(?:List)?\\{0,8}"|\bkind:[ \t]?Secret(?:List)?\b.{0,2000}\bdata:/;
const SECRET_LINE = /^[^{}]{0,200}?(?:^|[\s-])"?kind"?:[ \t]{0,9}"?Secret(?:List)?"?[ \t]{0,9},?[ \t\r]{0,9}$/;
/** Lines of YAML and JSON, with what a log may put before them. */
const OBJECT_LINE = /^(?:\S{1,64}[ \t]+){0,6}[ \t]*(?:- +)?["\w./-]{1,253}:(?:[ \t]|$)|^[ \t]*[-{}[\]"]|^[ \t]+\S/;
/** No Secret is larger than a mebibyte; of these lines most are short. */
const MOST_LINES = 4000;

export function withoutObjects(text: string, inner: (text: string) => string): string {
  if (!text.includes('{"') && !text.includes("Secret")) return text;
  const lines = text.split("\n");
  const out: string[] = [];
  let changed = false;
  for (let index = 0; index < lines.length; index++) {
    const line = lines[index] as string;
    if (line.includes("Secret") && SECRET_LINE.test(line)) {
      changed = true;
      while (out.length > 0 && isObjectLine(out.at(-1) as string)) out.pop();
      let end = index;
      while (end + 1 < lines.length && end - index < MOST_LINES && isObjectLine(lines[end + 1] as string)) end++;
      index = end;
      out.push(SECRET_REMOVED);
      continue;
    }
    const clean = cleanLine(line, inner);
    changed ||= clean !== line;
    out.push(clean);
  }
  return changed ? out.join("\n") : text;
}

function isObjectLine(line: string): boolean {
  return line.length < 4096 * 64 && OBJECT_LINE.test(line) && !/^---|^\[a Secret/.test(line);
}

function cleanLine(line: string, inner: (text: string) => string): string {
  const start = line.indexOf('{"');
  const end = line.lastIndexOf("}") + 1;
  const clean = start === -1 || end <= start ? undefined : withoutJsonSecrets(line.slice(start, end), inner);
  if (clean !== undefined) return line.slice(0, start) + clean + line.slice(end);
  if (!line.includes("Secret") || !SECRET_IN_LINE.test(line) || !/\bdata\b|stringData/.test(line)) return line;
  return `${start === -1 ? "" : line.slice(0, start)}${SECRET_REMOVED}`;
}
