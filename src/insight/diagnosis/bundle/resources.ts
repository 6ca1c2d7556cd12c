/** Objects, container states, manifests, units and service records, as `oc get -o json`, `crictl`, installer and gather write them. */
import { type Document, parseAllDocuments } from "yaml";
import { at, isRecord, jsonOf, listOf } from "../../../base/at.js";
import { egressReading } from "../../../cluster/bootstrap/settings/egress-config.js";
import {
  commandLine,
  containerWords,
  isApiServer,
  roleOf,
  unitWords,
} from "../../../cluster/bootstrap/settings/programs.js";
import type { Pod, PodContainer } from "../../../cluster/kube/pods.js";
import type { KubeObject } from "../../../cluster/kube/port.js";
import { type Bundle, CLEANUP, evidence, lineWith } from "./bundle.js";

/** The items of a list; none when the text is not one. */
const itemsOf = <T>(text: string): T[] => listOf(at(jsonOf(text), "items")).filter(isRecord) as T[];

/** The line of a text as JSON spells it. */
const lineOf = (text: string, value: string): number => lineWith(text, JSON.stringify(value).slice(1, -1));

/** The containers of a pod, or of the template of an object that makes pods. */
const containersOf = (object: unknown): PodContainer[] =>
  listOf(at(object, "spec", "containers") ?? at(object, "spec", "template", "spec", "containers")).filter(isRecord);

/** The same program is described by its manifest, by its DaemonSet and by every pod; once is enough. */
function remember(bundle: Bundle, container: PodContainer, file: string, line: number): void {
  const role = roleOf(container);
  const words = [...(container.command ?? []), ...(container.args ?? [])];
  // A template's placeholders say nothing about what runs.
  if (role === undefined || words.length === 0 || words.some((word) => word.includes("${"))) return;
  const known = role === "server" ? bundle.servers : bundle.agents;
  const program = { ...commandLine(file, words), seen: evidence(file, words.join(" "), line) };
  const spelled = (flags: ReadonlyMap<string, string>): string => [...flags].join("\0");
  const isKnown = known.some(({ flags }) => spelled(flags) === spelled(program.flags));
  if (known.length < 50 && !isKnown) known.push(program);
}

export function readPods(bundle: Bundle, file: string, text: string): void {
  for (const { metadata, spec, status } of itemsOf<Pod>(text)) {
    const container = spec?.containers?.find((candidate) => roleOf(candidate) !== undefined);
    if (container === undefined) continue;
    const role = roleOf(container);
    const name = `${metadata?.namespace ?? ""}/${metadata?.name ?? ""}`;
    const line = lineOf(text, metadata?.name ?? "");
    remember(bundle, container, file, line);
    const own = status?.containerStatuses?.find((entry) => entry.name === container.name);
    const unready = status?.conditions?.find(({ type, status: value }) => type === "PodScheduled" && value === "False");
    const { reason = "", message = "" } = own?.state?.waiting ?? unready ?? {};
    if (role === "agent") {
      bundle.agentPods.push({
        ...{ node: spec?.nodeName ?? "", phase: status?.phase ?? "" },
        waiting: reason === "" ? undefined : { reason, message },
        seen: evidence(file, `${name}: ${[status?.phase, reason, message].filter(Boolean).join(", ")}`, line),
      });
    }
    const ended = own?.state?.terminated ?? own?.lastState?.terminated;
    if (own === undefined || ended === undefined) continue;
    const { restartCount: restarts = 0 } = own;
    bundle.containers.push({
      ...{ name: `konnectivity-${role}`, restarts, running: own.state?.running !== undefined },
      ...{ exitCode: ended.exitCode, reason: ended.reason ?? "" },
      seen: evidence(file, `${name}: exit code ${ended.exitCode}, ${ended.reason}, ${restarts} restarts`, line),
    });
  }
}

interface KubeEvent {
  readonly reason?: string;
  readonly message?: string;
  readonly involvedObject?: { readonly kind?: string; readonly name?: string; readonly namespace?: string };
}

/** How controllers say that admission refused every pod. */
const FORBIDDEN = /security context constraint|violates PodSecurity|is forbidden/i;

export function readEvents({ seen }: Bundle, file: string, text: string): void {
  for (const { reason, message = "", involvedObject: about } of itemsOf<KubeEvent>(text)) {
    if (!/konnectivity|drawbridge/.test(`${about?.name} ${about?.namespace}`)) continue;
    const shown = `${reason} ${about?.kind}/${about?.name}: ${message}`;
    const line = lineOf(text, message);
    if (reason === "FailedCreate" && FORBIDDEN.test(message)) seen.podsForbidden.add(file, shown, line);
    if (reason === "FailedScheduling") seen.podsUnschedulable.add(file, shown, line);
  }
}

export function readDaemonSets(bundle: Bundle, file: string, text: string): void {
  for (const object of itemsOf<KubeObject>(text)) {
    const line = lineOf(text, object.metadata?.name ?? "");
    for (const container of containersOf(object)) remember(bundle, container, file, line);
  }
}

interface Inspection {
  readonly status?: Partial<Record<"state" | "reason", string>> & {
    readonly metadata?: { readonly name?: string; readonly attempt?: number };
    readonly exitCode?: number;
  };
  readonly info?: { readonly runtimeSpec?: { readonly process?: { readonly args?: readonly string[] } } };
}

/** Reads the output of `crictl inspect`. */
export function readInspection(bundle: Bundle, file: string, text: string): void {
  const inspection = jsonOf(text) as Inspection | null | undefined;
  const { metadata, state = "", exitCode, reason = "" } = inspection?.status ?? {};
  const { name = "", attempt: restarts = 0 } = metadata ?? {};
  if (!/^(konnectivity-(server|agent)|kube-apiserver)/.test(name)) return;
  const shown = `${name}: ${state}, exit code ${exitCode}${reason && `, ${reason}`}, ${restarts} restarts`;
  bundle.containers.push({
    ...{ name, restarts, exitCode, reason, running: state === "CONTAINER_RUNNING" },
    seen: evidence(file, shown, lineOf(text, state)),
  });
  const args = inspection?.info?.runtimeSpec?.process?.args ?? [];
  if (name === "kube-apiserver" && state === "CONTAINER_RUNNING" && isApiServer(args)) {
    const line = commandLine(file, args);
    // Where the flags come from a file, that file is read by itself.
    if (!line.flags.has("openshift-config"))
      bundle.apiServer.running ??= { ...line, seen: evidence(file, args.join(" "), lineOf(text, "--")) };
  }
  remember(bundle, { name, args }, file, lineOf(text, "--"));
}

/** The kube-apiserver's static pod, or the configuration that OpenShift's takes its flags from. */
export function readApiServer({ apiServer }: Bundle, file: string, text: string): void {
  const [document] = documentsIn(text);
  const given = at(document, "apiServerArguments");
  if (isRecord(given)) {
    const flags = new Map(Object.entries(given).map(([name, values]) => [name, String(listOf(values)[0] ?? "")]));
    const seen = evidence(
      file,
      `apiServerArguments: ${[...flags.keys()].join(", ")}`,
      lineWith(text, "apiServerArguments"),
    );
    apiServer.written = { source: file, flags, seen };
    return;
  }
  const line = commandLine(file, containerWords(document));
  // OpenShift's pod names only the file that the flags are in, which is read by itself.
  if (line.flags.size === 0 || line.flags.has("openshift-config")) return;
  apiServer.written ??= {
    ...line,
    seen: evidence(file, `--${[...line.flags.keys()].join(" --")}`, lineWith(text, "--")),
  };
}

/** Manifests of server and agents, and the egress configuration. */
export function readManifest(bundle: Bundle, file: string, text: string): void {
  for (const document of documentsIn(text)) {
    for (const container of containersOf(document)) remember(bundle, container, file, lineWith(text, "args:"));
    if (at(document, "kind") === "EgressSelectorConfiguration") bundle.egress ??= egressReading(file, document);
  }
}

function documentsIn(text: string): readonly unknown[] {
  try {
    return listOf(parseAllDocuments(text)).map((document) => (document as Document).toJS({ maxAliasCount: 20 }));
  } catch {
    return [];
  }
}

/** `ExecStart=/usr/local/bin/proxy-server \` and the lines that go on. */
export function readUnit(bundle: Bundle, file: string, text: string): void {
  const command = unitWords(text);
  if (command !== undefined) remember(bundle, { command }, file, lineWith(text, "ExecStart="));
}

/** The record of a systemd service of a bootstrap host, read as the installer reads it. */
export type ServiceRecord = ReturnType<typeof recordOf>;

/** `string` is the key that installers up to 4.22 read instead of `stage`. */
type Entry = Readonly<
  Record<"timestamp" | "phase" | "result" | "stage" | "string" | "errorLine" | "errorMessage", unknown>
>;

export function readServiceRecord({ services, observations }: Bundle, file: string, text: string): void {
  const name = /([^/]+)\.json$/.exec(file)![1]!;
  const entries = jsonOf(text);
  if (Array.isArray(entries) && entries.every(isRecord))
    services.set(name, recordOf(name, file, text, entries as Entry[]));
  else observations.push(`${file} is not a service record and was passed over.`);
}

function recordOf(name: string, file: string, text: string, entries: readonly Entry[]) {
  let failed: { readonly stage: string; readonly error: string; readonly seen: string } | undefined;
  let openStage: { readonly name: string; readonly since: string } | undefined;
  const ended = new Set<string>();
  for (const [index, entry] of entries.entries()) {
    const phase = String(entry.phase);
    const stage = word(entry.stage) || word(entry.string);
    if (phase === "stage start") openStage = { name: stage, since: word(entry.timestamp) };
    if (phase === "stage end" || phase === "service end") openStage = undefined;
    if (phase === "stage end") ended.add(stage);
    if (entry.result === "success" && phase === "stage end" && stage === failed?.stage) failed = undefined;
    if (entry.result !== "failure") continue;
    // The service ends in failure because its stage did: the stage says more.
    if (phase === "service end" && failed !== undefined) continue;
    const seen = evidence(file, described(phase, stage, entry), lineOfEntry(text, index));
    failed = { stage, error: word(entry.errorMessage), seen };
  }
  const last = entries.at(-1);
  const successful = ["service end", "post-command end"].includes(String(last?.phase)) && last?.result === "success";
  return {
    ...{ name, file, successful, ended },
    /** A stage that was begun and not ended. */
    openStage,
    starts: invocations(entries),
    /** The stage that failed last and has not succeeded since, with its error and where that is recorded. */
    // Any stage but the clean-up has to succeed before the service can.
    failed: successful && failed?.stage !== CLEANUP ? undefined : failed,
  };
}

/** Longer than a script takes from its first line to the one that begins its first stage. */
const LONGEST_PREAMBLE_MS = 60_000;

/** Scripts of 4.12 and later begin the record twice in one run: two starts with nothing between are one. */
function invocations(entries: readonly Entry[]): number {
  let count = 0;
  /** The first start of a run that may have a second one. */
  let open: Entry | undefined;
  for (const entry of entries) {
    const isStart = entry.phase === "service start";
    const apart = Date.parse(word(entry.timestamp)) - Date.parse(word(open?.timestamp));
    const isSecond = isStart && open !== undefined && !(apart > LONGEST_PREAMBLE_MS);
    if (isStart && !isSecond) count++;
    open = isStart && !isSecond ? entry : undefined;
  }
  return count;
}

function described(phase: string, stage: string, entry: Entry): string {
  const [where, error] = [word(entry.errorLine), word(entry.errorMessage)];
  const what = `${stage === "" ? phase : `${stage} (${phase})`}: failure`;
  return `${what}${where && ` at ${where}`}${error && `: ${error}`}`;
}

const word = (value: unknown): string => (typeof value === "string" ? value : "");

/** jq writes one member a line: the n-th entry is where the n-th "phase" is. */
function lineOfEntry(text: string, index: number): number {
  let at = -1;
  for (let seen = -1; seen < index; seen++) {
    at = text.indexOf('"phase"', at + 1);
    if (at < 0) return 1;
  }
  return text.slice(0, at).split("\n").length;
}
