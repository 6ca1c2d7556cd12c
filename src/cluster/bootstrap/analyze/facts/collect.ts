/** Reads a bundle once, from the first file to the last, and keeps what the rules need. */
import type { BundleEntry } from "../bundle/entry.js";
import { linesOf, wholeText } from "../bundle/read-entry.js";
import { newAgentLog, readAgentLine } from "./agent-log.js";
import { readApiServerLine, readKubeletLine, readServerLine } from "./control-plane-logs.js";
import { Facts } from "./facts.js";
import {
  readAddresses,
  readCertificate,
  readGatherManifest,
  readListeners,
  readMetrics,
  readReadiness,
} from "./host-files.js";
import { readManifestText, readUnitText } from "./programs.js";
import { readDaemonSets, readEvents, readInspection, readPods } from "./resources.js";
import { readServiceRecord } from "./service-records.js";

type Text = (facts: Facts, file: string, text: string) => void;

/** Objects of a large cluster; more is not worth the memory. */
const LARGEST_TEXT = 96 * 1024 * 1024;

const texts: readonly (readonly [RegExp, Text])[] = [
  [/^bootstrap\/services\/[^/]+\.json$/, readService],
  [/\/containers\/.*\.inspect$/, readInspection],
  [/^resources\/pods\.json$/, readPods],
  [/^resources\/events\.json$/, readEvents],
  [/^resources\/daemonsets\.json$/, readDaemonSets],
  [/^bootstrap\/network\/ip-addr\.txt$/, readAddresses],
  [/^bootstrap\/network\/netstat\.txt$/, readListeners],
  [/^bootstrap\/health\/readyz\.txt$/, readReadiness],
  [/^bootstrap\/metrics\/server\.txt$/, readMetrics],
  [/^(rendered-assets\/openshift\/tls\/konnectivity|bootstrap\/pki)\/[^/]+\.crt$/, readCertificate],
  [/\/(konnectivity-[^/]*|egress-selector-config)\.ya?ml$/, readManifestText],
  [/\.service$/, readUnitText],
  [/^manifest\.json$/, (facts, _file, text) => readGatherManifest(facts, text)],
];

type LineReader = (text: string, line: number) => void;

const logs: readonly (readonly [RegExp, (facts: Facts, file: string) => LineReader])[] = [
  [/\/containers\/konnectivity-agent[^/]*\.log$/, agentLog],
  [/\/containers\/konnectivity-server[^/]*\.log$|\/journals\/drawbridge-[^/]*server[^/]*\.log$/, serverLog],
  [/^bootstrap\/containers\/(.*\/)?(bootstrap-)?kube-apiserver[^/]*\.log$/, linesTo(readApiServerLine)],
  [/^bootstrap\/journals\/kubelet\.log$/, linesTo(readKubeletLine)],
];

const OF_INSTALLER =
  /^(bootstrap|control-plane|rendered-assets|resources|unit-status)\/|^(gather\.log|failed-units\.txt)$/;

export async function collectFacts(entries: AsyncIterable<BundleEntry>): Promise<Facts> {
  const facts = new Facts();
  for await (const entry of entries) {
    if (OF_INSTALLER.test(entry.path)) {
      facts.kind ??= "openshift-install";
      noteTime(facts, entry);
    }
    await collect(facts, entry);
  }
  return facts;
}

async function collect(facts: Facts, entry: BundleEntry): Promise<void> {
  const { path } = entry;
  const [, readText] = texts.find(([pattern]) => pattern.test(path)) ?? [];
  if (readText !== undefined) {
    const text = await wholeText(entry, LARGEST_TEXT);
    if (text === undefined) facts.observations.push(`${path} is too large and was passed over.`);
    else readText(facts, path, text);
    return;
  }
  const [, open] = logs.find(([pattern]) => pattern.test(path)) ?? [];
  if (open === undefined) return;
  const read = open(facts, path);
  for await (const { number, text } of linesOf(entry.content())) read(text, number);
}

/** Files of a bundle are written while it is made, so the newest tells when that was. Our own says it itself. */
function noteTime(facts: Facts, { modifiedAt }: BundleEntry): void {
  if (facts.kind === "drawbridge") return;
  if (facts.gatheredAt === undefined || facts.gatheredAt < modifiedAt) facts.gatheredAt = modifiedAt;
}

function readService(facts: Facts, file: string, text: string): void {
  const name = /([^/]+)\.json$/.exec(file)![1]!;
  const record = readServiceRecord(name, file, text);
  if (record === undefined) facts.observations.push(`${file} is not a service record and was passed over.`);
  else facts.services.set(name, record);
}

function agentLog(facts: Facts, file: string): LineReader {
  const log = newAgentLog(file);
  // A crowd of thousands would say the same.
  if (facts.agents.length < 2_000) facts.agents.push(log);
  return (text, line) => readAgentLine(log, text, line);
}

function serverLog(facts: Facts, file: string): LineReader {
  facts.server.logs++;
  return (text, line) => readServerLine(facts, file, text, line);
}

function linesTo(read: (facts: Facts, file: string, text: string, line: number) => void) {
  return (facts: Facts, file: string): LineReader =>
    (text, line) =>
      read(facts, file, text, line);
}
