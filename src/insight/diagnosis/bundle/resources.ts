/** Objects of the cluster, container states, manifests and units, as `oc get -o json`, `crictl` and our gather write them. */
import { type Document, parseAllDocuments } from "yaml";
import { at, isRecord, jsonOf, listOf } from "../../../base/at.js";
import { egressReading } from "../../../cluster/bootstrap/settings/egress-config.js";
import { commandLine, roleOf, unitWords } from "../../../cluster/bootstrap/settings/programs.js";
import type { Pod, PodContainer } from "../../../cluster/kube/pods.js";
import type { KubeObject } from "../../../cluster/kube/port.js";
import { type Bundle, evidence, lineWith } from "./bundle.js";

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
  remember(bundle, { name, args }, file, lineOf(text, "--"));
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
