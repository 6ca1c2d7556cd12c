/** Reads a bundle once, from the first file to the last, and keeps the facts that checks ask for. */
import type { TarEntry } from "../../../base/tar.js";
import { type FactSource, unavailable } from "../check.js";
import { BundleFacts } from "./facts.js";
import {
  readAddresses,
  readCertificate,
  readGatherManifest,
  readListeners,
  readMetrics,
  readReadiness,
} from "./host-files.js";
import { agentLog, apiServerLog, kubeletLog, type LineReader, serverLog } from "./logs.js";
import { linesOf, openBundle, unusableBundle, wholeText } from "./open-bundle.js";
import { readDaemonSets, readEvents, readInspection, readManifest, readPods, readUnit } from "./resources.js";
import { readServiceRecord } from "./service-records.js";

/** Objects of a large cluster; more is not worth the memory. */
const LARGEST_TEXT = 96 * 1024 * 1024;

const texts: readonly (readonly [RegExp, (facts: BundleFacts, file: string, text: string) => void])[] = [
  [/^bootstrap\/services\/[^/]+\.json$/, readServiceRecord],
  [/\/containers\/.*\.inspect$/, readInspection],
  [/^resources\/pods\.json$/, readPods],
  [/^resources\/events\.json$/, readEvents],
  [/^resources\/daemonsets\.json$/, readDaemonSets],
  [/^bootstrap\/network\/ip-addr\.txt$/, readAddresses],
  [/^bootstrap\/network\/netstat\.txt$/, readListeners],
  [/^bootstrap\/health\/readyz\.txt$/, readReadiness],
  [/^bootstrap\/metrics\/server\.txt$/, readMetrics],
  [/^(rendered-assets\/openshift\/tls\/konnectivity|bootstrap\/pki)\/[^/]+\.crt$/, readCertificate],
  [/\/(konnectivity-[^/]*|egress-selector-config)\.ya?ml$/, readManifest],
  [/\.service$/, readUnit],
  [/^manifest\.json$/, readGatherManifest],
];

const logs: readonly (readonly [RegExp, (facts: BundleFacts, file: string) => LineReader])[] = [
  [/\/containers\/konnectivity-agent[^/]*\.log$/, agentLog],
  [/\/containers\/konnectivity-server[^/]*\.log$|\/journals\/drawbridge-[^/]*server[^/]*\.log$/, serverLog],
  [/^bootstrap\/containers\/(.*\/)?(bootstrap-)?kube-apiserver[^/]*\.log$/, apiServerLog],
  [/^bootstrap\/journals\/kubelet\.log$/, kubeletLog],
];

/** Throws DB_BUNDLE when the path holds no bundle. */
export async function readBundle(path: string): Promise<BundleFacts> {
  const facts = await collectFacts(openBundle(path));
  if (facts.bundle.kind === undefined) throw unusableBundle(path, "it holds nothing that a gather writes");
  return facts;
}

/** A bundle as a source, whole or as much of it as one host gives. */
export function bundleSource(facts: BundleFacts): FactSource {
  // Without a reason: what a bundle lacks is no finding.
  const { egressFiles, serverPrograms } = facts;
  const shared = { egress: egressFiles[0], serverFlags: serverPrograms[0] };
  const members = Object.entries({ ...facts, ...shared }).map(
    ([name, fact]) => [name, () => fact ?? unavailable("")] as const,
  );
  return Object.fromEntries(members) as FactSource;
}

const OF_INSTALLER =
  /^(bootstrap|control-plane|rendered-assets|resources|unit-status)\/|^(gather\.log|failed-units\.txt)$/;

export async function collectFacts(entries: AsyncIterable<TarEntry>): Promise<BundleFacts> {
  const facts = new BundleFacts();
  for await (const entry of entries) {
    if (OF_INSTALLER.test(entry.path)) {
      facts.bundle.kind ??= "openshift-install";
      noteTime(facts, entry);
    }
    await collect(facts, entry);
  }
  return facts;
}

async function collect(facts: BundleFacts, entry: TarEntry): Promise<void> {
  const { path } = entry;
  const [, readText] = texts.find(([pattern]) => pattern.test(path)) ?? [];
  if (readText !== undefined) {
    const text = await wholeText(entry, LARGEST_TEXT);
    if (text === undefined) facts.bundle.observations.push(`${path} is too large and was passed over.`);
    else readText(facts, path, text);
    return;
  }
  const [, open] = logs.find(([pattern]) => pattern.test(path)) ?? [];
  if (open === undefined) return;
  const read = open(facts, path);
  for await (const { number, text } of linesOf(entry.content())) read(text, number);
}

/** Files of a bundle are written while it is made, so the newest tells when that was. Our own has it in its manifest. */
function noteTime({ bundle }: BundleFacts, { modifiedAt }: TarEntry): void {
  if (bundle.kind === "drawbridge") return;
  if (bundle.gatheredAt === undefined || bundle.gatheredAt < modifiedAt) bundle.gatheredAt = modifiedAt;
}
