/** Reads a bundle once, from the first file to the last, and keeps the facts that checks ask for. */
import { at, jsonOf, listOf } from "../../../base/at.js";
import { samplesOf } from "../../../base/metrics/samples.js";
import { BrokenBetween, type TarEntry } from "../../../base/tar.js";
import { readCleanupState } from "../../../cluster/bootstrap/model/cleanup.js";
import { certificatesIn } from "../../../tunnel/pki/pem.js";
import { type FactSource, unavailable } from "../check.js";
import {
  type AgentLog,
  Bundle,
  CLEANUP,
  type ConnectFailure,
  evidence,
  lineWith,
  Sighting,
  type SocketFailure,
  socketFailures,
} from "./bundle.js";
import { linesOf, openBundle, UnusableBundle, wholeText } from "./open-bundle.js";
import {
  readApiServer,
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
  [
    /\/kube-apiserver(-pod|-config)?\.ya?ml$|^rendered-assets\/openshift\/kube-apiserver-bootstrap\/config$/,
    readApiServer,
  ],
  [/^rendered-assets\/openshift\/konnectivity-cleanup\.json$/, readCleanup],
  [/^bootstrap\/[^/]+\/socket-directory\.txt$/, readSocketDirectory],
  [/\.service$/, readUnit],
  [/^manifest\.json$/, readGatherManifest],
];

/** The lines of each log that mean something; of several patterns the first that matches counts. */
const LOGS: readonly {
  readonly file: RegExp;
  readonly lines: Readonly<Partial<Record<keyof Bundle["seen"], RegExp>>>;
}[] = [
  {
    file: /\/containers\/konnectivity-server[^/]*\.log$|\/journals\/drawbridge-[^/]*server[^/]*\.log$/,
    lines: {
      agentConnected: /\bagent connected\b|"Connect request from agent"/i,
      serverStarted: /proxy-server is up|Starting frontend server for client connections/,
      serverRefusal:
        /^(?:\S+ std(?:err|out) F |.*?\]: )?Error: |main\.go:\d+\] error: |failed to validate server options|exec format error/,
      serverRestarted:
        /Scheduled restart job, restart counter is at \d+|Main process exited, code=exited, status=[1-9]/,
    },
  },
  {
    file: /^bootstrap\/containers\/(.*\/)?(bootstrap-)?kube-apiserver[^/]*\.log$/,
    lines: {
      noAgentAvailable: /No agent available/,
      apiServerEnded: /"command failed" err=|^(?:\S+ std(?:err|out) F )?(?:Error: |F\d{4} )/,
      webhookFailed: /[Ff]ailed calling webhook/,
    },
  },
  {
    file: /^bootstrap\/journals\/(kubelet|bootkube|crio)\.log$/,
    lines: {
      diskFull: /no space left on device/,
      serverCrashLoop: /^(?=.*konnectivity-server).*(CrashLoopBackOff|back-off .* restarting failed container)/i,
      serverCannotStart:
        /^(?=.*konnectivity-server).*(ErrImagePull|ImagePullBackOff|CreateContainerError|RunContainerError|CreateContainerConfigError)/,
    },
  },
];

/** How much of a bundle was read. */
class Sizes {
  files = 0;
  bytes = 0;
  /** The size of the file that is being read. */
  last: number | undefined;

  isWhole(): void {
    if (this.last === undefined) return;
    this.files++;
    this.bytes += this.last;
    this.last = undefined;
  }
}

/** As much of it as can be read. Throws DB_BUNDLE when the path holds no bundle. */
export async function readBundle(path: string): Promise<Bundle> {
  const bundle = new Bundle();
  const read = new Sizes();
  try {
    await collectBundle(openBundle(path), bundle, read);
  } catch (reason) {
    // What was read before the end of a broken archive is as good as ever.
    if (!(reason instanceof UnusableBundle) || !reason.isPartial || bundle.kind === undefined) throw reason;
    if (reason.cause instanceof BrokenBetween) read.isWhole();
    const { files, bytes } = read;
    if (files === 0) throw reason;
    bundle.incomplete = { why: reason.why, files, bytes };
  }
  if (bundle.kind === undefined) throw new UnusableBundle(path, "it holds nothing that a gather writes");
  return bundle;
}

/** A bundle as a source, whole or as much of it as one host gives. */
export function bundleSource(bundle: Bundle): FactSource {
  // Without a reason: what a bundle lacks is no finding.
  return {
    bundle: () => bundle,
    cleanup: () => {
      const failed = bundle.services.get("bootkube")?.failed;
      const inStage = failed?.stage === CLEANUP ? failed : undefined;
      return { noted: bundle.cleanup, inStage, later: bundle.services.get(CLEANUP) };
    },
    egress: () => bundle.egress ?? unavailable(""),
    serverFlags: () => bundle.servers[0] ?? unavailable(""),
  };
}

const OF_INSTALLER =
  /^(bootstrap|control-plane|rendered-assets|resources|unit-status)\/|^(gather\.log|failed-units\.txt)$/;

export async function collectBundle(
  entries: AsyncIterable<TarEntry>,
  bundle = new Bundle(),
  read = new Sizes(),
): Promise<Bundle> {
  for await (const entry of entries) {
    const { path, modifiedAt } = entry;
    // That there is a next one shows that the last was whole, read or not.
    read.isWhole();
    read.last = entry.size;
    if (path.startsWith("bootstrap/")) bundle.hasHostFiles = true;
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
  for await (const { number, text } of linesOf(entry.content())) read.line(text, number);
  // Not before its end: a log that is cut off may lack the line that says that all is well again.
  read.end?.();
}

interface LogReader {
  line(text: string, number: number): void;
  end?(): void;
}

function logReader(bundle: Bundle, file: string): LogReader | undefined {
  if (/\/containers\/konnectivity-agent[^/]*\.log$/.test(file)) return agentLog(bundle, file);
  const log = LOGS.find((one) => one.file.test(file));
  if (log === undefined) return undefined;
  const { lines } = log;
  if (lines.serverStarted !== undefined) bundle.serverLogs++;
  const kinds = Object.entries(lines) as [keyof Bundle["seen"], RegExp][];
  return {
    line(text, number) {
      const [kind] = kinds.find(([, pattern]) => pattern.test(text)) ?? [];
      if (kind !== undefined) bundle.seen[kind].add(file, text, number);
      if (lines.noAgentAvailable !== undefined) readApiServerLine(bundle, file, text, number);
    },
  };
}

/** What kube-apiservers say of the socket, and, at their start, of the flag. */
function readApiServerLine(bundle: Bundle, file: string, text: string, line: number): void {
  const [, socket, why] = /dial unix (\S+): connect: ([a-z ]+)/.exec(text) ?? [];
  const kind = socketFailures.find((one): one is SocketFailure => why?.startsWith(one) === true);
  if (socket !== undefined && kind !== undefined) {
    const known = bundle.socketFailures.get(kind) ?? { socket, seen: new Sighting() };
    known.socket = socket;
    known.seen.add(file, text, line);
    bundle.socketFailures.set(kind, known);
  }
  const [, flag] = /FLAG: --egress-selector-config-file="([^"]*)"/.exec(text) ?? [];
  if (flag === undefined) return;
  const flags = new Map(flag === "" ? [] : [["egress-selector-config-file", flag]]);
  bundle.apiServer.running = { source: file, flags, seen: evidence(file, text, line) };
}

/** How upstream's agent and ours say that an attempt to connect failed. */
const FAILED = /cannot connect once|cannot connect to server/;
const CONNECTED =
  /successfully connected to|"Connect to( server)?"|sync added client connecting|\bconnected to server\b/;
/** Lines that both print when they end at once. */
const AGENT_REFUSAL = /^(?:\S+ std(?:err|out) F )?Error: (?!.*cannot connect)|main\.go:\d+\] error: |exec format error/;

/** The texts of Go and of Node; more specific ones first. */
const REASONS: readonly (readonly [RegExp, ConnectFailure])[] = [
  // Our agents name the cause by its code.
  [/\bDB_NAME_(UNKNOWN|SERVER)\b/, "unresolved"],
  [/\bDB_TLS_SERVER_NAME\b/, "san"],
  [/\bDB_TLS_(SERVER|CA|OWN)_EXPIRED\b/, "expired"],
  [/\bDB_TLS_CLOCK\b/, "not-yet-valid"],
  [/\bDB_TLS_UNKNOWN_CA\b/, "unknown-authority"],
  [/\bDB_TLS_OWN_(REFUSED|MISSING|USE)\b|\bDB_SERVER_HUNG_UP\b/, "rejected"],
  [/\bDB_TLS_(NOT_SPOKEN|FAILED)\b|\bDB_WRONG_PORT\b/, "handshake"],
  // Whatever befalls a question to a name server: nothing was dialled yet.
  [/\blookup \S+?( on \S+)?: |no such host|server misbehaving|ENOTFOUND|EAI_AGAIN|getaddrinfo/, "unresolved"],
  [/failed to do connect handshake|proxyconnect|Proxy Authentication Required/, "proxied"],
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
  [
    /handshake failed: (EOF|context deadline exceeded|.*i\/o timeout)|first record does not look like a TLS|wrong version number|packet length too long|before secure TLS connection/,
    "handshake",
  ],
  [/connection refused|ECONNREFUSED/, "refused"],
  [/no route to host|network is unreachable|EHOSTUNREACH|ENETUNREACH/, "no-route"],
  [/i\/o timeout|no answer in time|timed out|ETIMEDOUT|[dD]eadline ?[eE]xceeded/, "timeout"],
];

/** More logs would say the same. */
const MOST_AGENTS = 2_000;

function agentLog({ agentLogs }: Bundle, file: string): LogReader {
  const log: AgentLog = { failure: undefined, connected: new Sighting(), refusal: new Sighting() };
  return {
    line(text, number) {
      if (CONNECTED.test(text)) {
        log.connected.add(file, text, number);
        log.failure = undefined;
      } else if (FAILED.test(text)) {
        const kind = REASONS.find(([pattern]) => pattern.test(text))?.[1];
        if (kind === undefined) return;
        // A new reason begins a new count: the old one has been overcome.
        if (log.failure?.kind !== kind) log.failure = { kind, seen: new Sighting() };
        log.failure.seen.add(file, text, number);
      } else if (AGENT_REFUSAL.test(text)) log.refusal.add(file, text, number);
    },
    end() {
      if (agentLogs.length < MOST_AGENTS) agentLogs.push(log);
    },
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

function readCleanup(bundle: Bundle, file: string, text: string): void {
  bundle.cleanup = notedCleanup(file, text) ?? bundle.cleanup;
}

/** Undefined when the text is not the clean-up's. */
export function notedCleanup(file: string, text: string): Bundle["cleanup"] {
  const found = readCleanupState(text);
  if (found === undefined) return undefined;
  const { state, attempts, lastAttemptAt, lastError } = found;
  const shown = `${state}, ${attempts} attempts, the last at ${lastAttemptAt}: ${lastError}`;
  return { ...found, seen: evidence(file, shown, lineWith(text, '"state"')) };
}

/** `ls -lan`, where the line of a socket begins with an s. */
function readSocketDirectory(bundle: Bundle, file: string, text: string): void {
  const found = text.split("\n").filter((line) => /^s[rwx-]{9}/.test(line));
  const shown = found.length === 0 ? "no socket in it" : found.join("; ");
  const sockets = found.map((line) => line.split(/\s+/).at(-1) ?? "");
  bundle.socketDirectory = { sockets, seen: evidence(file, shown) };
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
