/** Changes to the list of files of a config, as edits of its text. */
import { dataUrlOf } from "../../../base/data-url.js";
import type { TextEdit } from "../../../base/located-json.js";
import { contentOf, contradiction, type IgnitionConfig, type IgnitionFile, replaceContent } from "./ignition-config.js";
import type { PayloadFile } from "./payload.js";

/** Where the entries that ours stand in for are kept, to the byte; the host gets them too, for whoever compares. */
const ASIDE = "/opt/openshift/drawbridge-replaced";

export const asidePath = (path: string): string => ASIDE + path;

/** The text of an entry as it was, under the other path. */
export function asideEntry(config: IgnitionConfig, { node, pathNode }: IgnitionFile): string {
  const at = pathNode.start + 1;
  return config.text.slice(node.start, at) + ASIDE + config.text.slice(at, node.end);
}

/** The reverse. */
export function broughtBack(config: IgnitionConfig, { node, pathNode }: IgnitionFile): string {
  const at = pathNode.start + 1;
  if (!config.text.startsWith(ASIDE, at))
    throw contradiction(`the entry ${pathNode.value} was spelt anew by another tool`);
  return config.text.slice(node.start, at) + config.text.slice(at + ASIDE.length, node.end);
}

export function entryOf({ path, mode, text }: PayloadFile): string {
  const source = dataUrlOf(text);
  return JSON.stringify({ path, overwrite: true, user: { name: "root" }, mode, contents: { source } });
}

export const replaceEntry = ({ node }: IgnitionFile, text: string): TextEdit => ({
  start: node.start,
  end: node.end,
  text,
});

export function appendEntries(config: IgnitionConfig, entries: readonly string[]): TextEdit[] {
  const last = config.filesNode?.items.at(-1);
  if (last === undefined) throw contradiction("storage.files is empty");
  return entries.length === 0
    ? []
    : [{ start: last.end, end: last.end, text: entries.map((entry) => `,${entry}`).join("") }];
}

/** Takes entries out together with the commas and the white space that came with them. */
export function dropEntries({ filesNode }: IgnitionConfig, doomed: ReadonlySet<IgnitionFile["node"]>): TextEdit[] {
  const items = filesNode?.items ?? [];
  const edits: TextEdit[] = [];
  for (let i = 0; i < items.length; i++) {
    const isDoomed = (k: number) => doomed.has(items[k] as IgnitionFile["node"]);
    if (!isDoomed(i)) continue;
    const first = i;
    while (i + 1 < items.length && isDoomed(i + 1)) i += 1;
    const start = items[first - 1]?.end ?? items[first]!.start;
    const end = first === 0 ? (items[i + 1]?.start ?? items[i]!.end) : items[i]!.end;
    edits.push({ start, end, text: "" });
  }
  return edits;
}

/** Whether writing the bytes anew would give the very text that stands there. */
export function isPlainlySpelt(config: IgnitionConfig, path: string): boolean {
  const content = contentOf(config, path);
  if (content === undefined) return false;
  return replaceContent(content, content.bytes).every(({ start, end, text }) => config.text.slice(start, end) === text);
}
