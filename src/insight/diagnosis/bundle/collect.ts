/** Reads a bundle once, from the first file to the last, and keeps the facts that checks ask for. */
import { at, jsonOf, listOf } from "../../../base/at.js";
import { samplesOf } from "../../../base/metrics/samples.js";
import type { TarEntry } from "../../../base/tar.js";
import { certificatesIn } from "../../../tunnel/pki/pem.js";
import { type FactSource, unavailable } from "../check.js";
import { type AgentLog, Bundle, type ConnectFailure, evidence, lineWith, Sighting } from "./bundle.js";
import { linesOf, openBundle, unusableBundle, wholeText } from "./open-bundle.js";
import {
  readDaemonSets,
  readEvents,
  readInspection,
  readManifest,
  readPods,
  readServiceRecord,
  readUnit,
} from "./resources.js";

/** Objects of a large cluster; more is not worth the memory. */
const LARGEST_TEXT = 96 * 1024 * 1024;

const TEXTS: readonly (readonly [RegExp, (bundle: Bundle, file: string, text: string) => void])[] = [
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

/** The lines of each log that mean something; of several patterns the first that matches counts. */
const LOGS: readonly {
  readonly file: RegExp;
  /** Only lines with this. */
  readonly about?: RegExp;
  readonly lines: Readonly<Partial<Record<keyof Bundle["seen"], RegExp>>>;
}[] = [
  {
    file: /\/containers\/konnectivity-server[^/]*\.log$|\/journals\/drawbridge-[^/]*server[^/]*\.log$/,
    lines: {
      agentConnected: /\bagent connected\b/i,
      serverStarted: /proxy-server is up|Starting frontend server for client connections/,
      serverRefusal:
        /^(?:\S+ std(?:err|out) F |.*?\]: )?Error: |main\.go:\d+\] error: |failed to validate server options/,
      serverRestarted:
        /Scheduled restart job, restart counter is at \d+|Main process exited, code=exited, status=[1-9]/,
    },
  },
  {
    file: /^bootstrap\/containers\/(.*\/)?(bootstrap-)?kube-apiserver[^/]*\.log$/,
    lines: { noAgentAvailable: /No agent available/ },
  },
  {
    file: /^bootstrap\/journals\/kubelet\.log$/,
    about: /konnectivity-server/,
    lines: {
      serverCrashLoop: /CrashLoopBackOff|back-off .* restarting failed container/i,
      serverCannotStart:
        /ErrImagePull|ImagePullBackOff|CreateContainerError|RunContainerError|CreateContainerConfigError/,
    },
  },
];

/** Throws DB_BUNDLE when the path holds no bundle. */
export async function readBundle(path: string): Promise<Bundle> {
  const bundle = await collectBundle(openBundle(path));
  if (bundle.kind === undefined) throw unusableBundle(path, "it holds nothing that a gather writes");
  return bundle;
}

/** A bundle as a source, whole or as much of it as one host gives. */
export function bundleSource(bundle: Bundle): FactSource {
  // Without a reason: what a bundle lacks is no finding.
  return {
    bundle: () => bundle,
    egress: () => bundle.egress ?? unavailable(""),
    serverFlags: () => bundle.servers[0] ?? unavailable(""),
  };
}

const OF_INSTALLER =
  /^(bootstrap|control-plane|rendered-assets|resources|unit-status)\/|^(gather\.log|failed-units\.txt)$/;

export async function collectBundle(entries: AsyncIterable<TarEntry>): Promise<Bundle> {
  const bundle = new Bundle();
  for await (const entry of entries) {
    const { path, modifiedAt } = entry;
    if (OF_INSTALLER.test(path)) {
      bundle.kind ??= "openshift-install";
      // Its files are written while a bundle is made, so the newest shows when that was. Our own has it in its manifest.
      const isOlder = bundle.gatheredAt === undefined || bundle.gatheredAt < modifiedAt;
      if (bundle.kind !== "drawbridge" && isOlder) bundle.gatheredAt = modifiedAt;
    }
    await collect(bundle, entry);
  }
  return bundle;
}

async function collect(bundle: Bundle, entry: TarEntry): Promise<void> {
  const { path } = entry;
  const [, readText] = TEXTS.find(([pattern]) => pattern.test(path)) ?? [];
  if (readText !== undefined) {
    const text = await wholeText(entry, LARGEST_TEXT);
    if (text === undefined) bundle.observations.push(`${path} is too large and was passed over.`);
    else readText(bundle, path, text);
    return;
  }
  const read = logReader(bundle, path);
  if (read === undefined) return;
  for await (const { number, text } of linesOf(entry.content())) read(text, number);
}

function logReader(bundle: Bundle, file: string): ((text: string, line: number) => void) | undefined {
  if (/\/containers\/konnectivity-agent[^/]*\.log$/.test(file)) return agentLog(bundle, file);
  const log = LOGS.find((one) => one.file.test(file));
  if (log === undefined) return undefined;
  const { about, lines } = log;
  if (lines.serverStarted !== undefined) bundle.serverLogs++;
  const kinds = Object.entries(lines) as [keyof Bundle["seen"], RegExp][];
  return (text, line) => {
    if (about?.test(text) === false) return;
    const [kind] = kinds.find(([, pattern]) => pattern.test(text)) ?? [];
    if (kind !== undefined) bundle.seen[kind].add(file, text, line);
  };
}

/** How upstream's agent and ours say that an attempt to connect failed. */
const FAILED = /cannot connect once|cannot connect to server/;
const CONNECTED = /successfully connected to|"Connect to server"|\bconnected to server\b/;
/** Lines that both print when they end at once. */
const AGENT_REFUSAL = /^(?:\S+ std(?:err|out) F )?Error: (?!.*cannot connect)|main\.go:\d+\] error: /;

/** The texts of Go and of Node; more specific ones first. */
const REASONS: readonly (readonly [RegExp, ConnectFailure])[] = [
  [/certificate is valid for .*, not |does not match certificate's altnames|doesn't contain any IP SANs/, "san"],
  [/current time \S+ is after |certificate has expired(?! or)/, "expired"],
  [/current time \S+ is before |certificate is not yet valid/, "not-yet-valid"],
  [
    /unknown authority \(|signed by unknown authority|self.signed certificate|unable to (verify the first|get (local )?issuer) certificate|certificate signature failure/,
    "unknown-authority",
  ],
  [
    /remote error: tls: |write: broken pipe|stream ended before its headers|alert (bad|unknown|expired|certificate)|read: connection reset|ECONNRESET/,
    "rejected",
  ],
  [/connection refused|ECONNREFUSED/, "refused"],
  [/no route to host|network is unreachable|EHOSTUNREACH|ENETUNREACH/, "no-route"],
  [/no such host|ENOTFOUND|EAI_AGAIN|server misbehaving/, "unresolved"],
  [/i\/o timeout|no answer in time|timed out|ETIMEDOUT|[dD]eadline ?[eE]xceeded/, "timeout"],
];

/** More logs would say the same. */
const MOST_AGENTS = 2_000;

function agentLog({ agentLogs }: Bundle, file: string) {
  const log: AgentLog = { failure: undefined, connected: new Sighting(), refusal: new Sighting() };
  if (agentLogs.length < MOST_AGENTS) agentLogs.push(log);
  return (text: string, line: number): void => {
    if (CONNECTED.test(text)) {
      log.connected.add(file, text, line);
      log.failure = undefined;
    } else if (FAILED.test(text)) {
      const kind = REASONS.find(([pattern]) => pattern.test(text))?.[1];
      if (kind === undefined) return;
      // A new reason begins a new count: the old one has been overcome.
      if (log.failure?.kind !== kind) log.failure = { kind, seen: new Sighting() };
      log.failure.seen.add(file, text, line);
    } else if (AGENT_REFUSAL.test(text)) log.refusal.add(file, text, line);
  };
}

/** `ip addr`, in any of its formats. */
function readAddresses(bundle: Bundle, file: string, text: string): void {
  const all = new Set([...text.matchAll(/\binet6? ([0-9a-f.:]+)/gi)].map(([, address]) => address!.toLowerCase()));
  if (all.size === 0) return;
  const shown = [...all].filter((address) => !/^(127\.|::1$|fe80)/.test(address)).join(", ");
  bundle.hostAddresses = { all, seen: evidence(file, `addresses of the host: ${shown}`) };
}

/** `netstat -l` or `ss -l`: the first address of a listening line is the local one in both. */
function readListeners(bundle: Bundle, file: string, text: string): void {
  const ports = new Set<number>();
  for (const line of text.split("\n")) {
    const port = /\bLISTEN\b/.test(line) && !/^unix/.test(line) ? /[:.](\d+)\s/.exec(line)?.[1] : undefined;
    if (port !== undefined) ports.add(Number(port));
  }
  // A heading without lines means that nothing listens.
  if (ports.size === 0 && !/Local Address/i.test(text)) return;
  const shown = [...ports].sort((a, b) => a - b).join(", ") || "none";
  bundle.listeningPorts = { ports, seen: evidence(file, `listening TCP ports: ${shown}`) };
}

/** The answer's status is in the first line, its text in the others. */
function readReadiness(bundle: Bundle, file: string, text: string): void {
  const [status = "", ...body] = text.trim().split("\n");
  if (!/^[1-5]\d\d$/.test(status)) return;
  bundle.readiness = {
    status: Number(status),
    seen: evidence(file, `/readyz answered ${status} ${body.join(" ")}`, 1),
  };
}

const BACKENDS = "konnectivity_network_proxy_server_ready_backends";

function readMetrics(bundle: Bundle, file: string, text: string): void {
  const found = samplesOf(text, BACKENDS);
  if (found.length === 0) return;
  const byStrategy = new Map(found.map(({ labels, value }) => [labels.get("proxy_strategy") ?? "", value] as const));
  const shown = [...byStrategy].map(([name, count]) => `${name} ${count}`).join(", ");
  bundle.backends = {
    byStrategy,
    seen: evidence(file, `agents by strategy: ${shown}`, lineWith(text, `${BACKENDS}{`)),
  };
}

function readCertificate({ certificates, observations }: Bundle, file: string, text: string): void {
  try {
    for (const { certificate } of certificatesIn(text)) certificates.push({ file, certificate });
  } catch {
    observations.push(`${file} is not a certificate.`);
  }
}

function readGatherManifest(bundle: Bundle, _file: string, text: string): void {
  const manifest = jsonOf(text);
  // Then it is another program's file.
  if (!String(at(manifest, "tool")).startsWith("drawbridge")) return;
  bundle.kind = "drawbridge";
  bundle.gatheredAt = new Date(String(at(manifest, "gatheredAt")));
  bundle.observations.push(...listOf(at(manifest, "failures")).map(String).slice(0, 20));
}
