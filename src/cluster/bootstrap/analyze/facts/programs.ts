/** Server and agent as manifests, pods and unit files describe them. */
import { parseAllDocuments } from "yaml";
import { type ProgramContainer as Container, roleOf, unitWords } from "../../settings/command-line.js";
import { evidence } from "../evidence.js";
import type { Arguments, Facts } from "./facts.js";

interface Document {
  readonly kind?: string;
  readonly spec?: {
    readonly containers?: readonly Container[];
    readonly template?: { readonly spec?: Document["spec"] };
  };
  readonly egressSelections?: readonly Selection[];
}

interface Selection {
  readonly name?: string;
  readonly connection?: {
    readonly proxyProtocol?: string;
    readonly transport?: { readonly uds?: { readonly udsName?: string } };
  };
}

export function readContainer(facts: Facts, container: Container, file: string, line?: number): void {
  const role = roleOf(container);
  const words = [...(container.command ?? []), ...(container.args ?? [])];
  if (role === undefined || words.length === 0) return;
  remember(facts, role, { words, image: container.image ?? "", seen: evidence(file, words.join(" "), line) });
}

/** The same program is described by its manifest, by its DaemonSet and by every pod; once is enough. */
export function remember(facts: Facts, role: "server" | "agent", found: Arguments): void {
  // A template's placeholders say nothing about what runs.
  if (found.words.some((word) => word.includes("${"))) return;
  const known = role === "server" ? facts.serverArguments : facts.agentArguments;
  const same = (other: Arguments) => other.words.join("\0") === found.words.join("\0");
  if (known.length < 50 && !known.some(same)) known.push(found);
}

export function readManifestText(facts: Facts, file: string, text: string): void {
  for (const parsed of documentsIn(text)) {
    const { kind, spec, egressSelections = [] } = parsed;
    const containers = spec?.containers ?? spec?.template?.spec?.containers ?? [];
    for (const container of containers) readContainer(facts, container, file, lineWith(text, "args:"));
    if (kind === "EgressSelectorConfiguration") for (const one of egressSelections) readEgress(facts, one, file, text);
  }
}

function documentsIn(text: string): readonly Document[] {
  try {
    const documents = parseAllDocuments(text);
    return (Array.isArray(documents) ? documents : [])
      .map((document) => document.toJS({ maxAliasCount: 20 }) as unknown)
      .filter((value): value is Document => typeof value === "object" && value !== null);
  } catch {
    return [];
  }
}

function readEgress(facts: Facts, { name, connection }: Selection, file: string, text: string): void {
  if (name?.toLowerCase() !== "cluster" || connection === undefined) return;
  const socket = connection.transport?.uds?.udsName ?? "";
  const protocol = connection.proxyProtocol ?? "";
  const shown = `cluster: proxyProtocol ${protocol}${socket === "" ? "" : `, udsName ${socket}`}`;
  facts.egress.push({ protocol, socket, seen: evidence(file, shown, lineWith(text, "proxyProtocol")) });
}

/** `ExecStart=/usr/local/bin/proxy-server \` and the lines that go on. */
export function readUnitText(facts: Facts, file: string, text: string): void {
  const words = unitWords(text);
  if (words === undefined) return;
  const seen = evidence(file, words.join(" "), lineWith(text, "ExecStart="));
  if (roleOf({ command: words }) === "server") remember(facts, "server", { words, image: "", seen });
}

function lineWith(text: string, part: string): number {
  const at = text.indexOf(part);
  return at < 0 ? 1 : text.slice(0, at).split("\n").length;
}

/** The value of `--name=value` or `--name value`; the last one wins, as with flags. */
export function flagValue(words: readonly string[], name: string): string | undefined {
  let value: string | undefined;
  for (const [index, word] of words.entries()) {
    if (word.startsWith(`--${name}=`)) value = word.slice(name.length + 3);
    else if (word === `--${name}`) value = words[index + 1];
  }
  return value;
}
