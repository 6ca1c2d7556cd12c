/** Objects of the cluster as `oc get -o json` and our gather write them. */

import { type ProgramContainer as Container, roleOf } from "../../settings/command-line.js";
import { evidence } from "../evidence.js";
import type { ContainerState, Facts, PodState } from "./facts.js";
import { readContainer } from "./programs.js";

interface State {
  readonly waiting?: { readonly reason?: string; readonly message?: string };
  readonly terminated?: { readonly exitCode?: number; readonly reason?: string };
  readonly running?: object;
}

interface Pod {
  readonly metadata?: { readonly name?: string; readonly namespace?: string };
  readonly spec?: { readonly nodeName?: string; readonly containers?: readonly Container[] };
  readonly status?: {
    readonly phase?: string;
    readonly conditions?: readonly { type?: string; status?: string; reason?: string; message?: string }[];
    readonly containerStatuses?: readonly {
      readonly name?: string;
      readonly restartCount?: number;
      readonly state?: State;
      readonly lastState?: State;
    }[];
  };
}

interface KubeEvent {
  readonly reason?: string;
  readonly message?: string;
  readonly involvedObject?: { readonly kind?: string; readonly name?: string; readonly namespace?: string };
}

/** The items of a list, or nothing when the text is none. */
function itemsOf<T>(text: string): readonly T[] {
  try {
    const { items } = JSON.parse(text) as { items?: unknown };
    return Array.isArray(items) ? items.filter((item): item is T => typeof item === "object" && item !== null) : [];
  } catch {
    return [];
  }
}

export function readPods(facts: Facts, file: string, text: string): void {
  for (const pod of itemsOf<Pod>(text)) readPod(facts, file, text, pod);
}

function readPod(facts: Facts, file: string, text: string, { metadata, spec, status }: Pod): void {
  const container = spec?.containers?.find((candidate) => roleOf(candidate) !== undefined);
  const role = container && roleOf(container);
  if (container === undefined || role === undefined) return;
  const name = `${metadata?.namespace ?? ""}/${metadata?.name ?? ""}`;
  const line = lineOfName(text, metadata?.name ?? "");
  readContainer(facts, container, file, line);
  const own = status?.containerStatuses?.find((entry) => entry.name === container.name);
  const unready = status?.conditions?.find(({ type, status: value }) => type === "PodScheduled" && value === "False");
  const waiting = own?.state?.waiting ?? unready;
  const reason = waiting?.reason ?? "";
  const state: PodState = {
    ...{ name, role, node: spec?.nodeName ?? "", phase: status?.phase ?? "" },
    ready: status?.conditions?.some(({ type, status: value }) => type === "Ready" && value === "True") ?? false,
    waiting: reason === "" ? undefined : { reason, message: waiting?.message ?? "" },
    seen: evidence(file, `${name}: ${[status?.phase, reason, waiting?.message].filter(Boolean).join(", ")}`, line),
  };
  facts.pods.push(state);
  const ended = own?.state?.terminated ?? own?.lastState?.terminated;
  if (own === undefined || ended === undefined) return;
  const restarts = own.restartCount ?? 0;
  facts.containers.push({
    name: role === "server" ? "konnectivity-server" : "konnectivity-agent",
    restarts,
    running: own.state?.running !== undefined,
    exitCode: ended.exitCode,
    reason: ended.reason ?? "",
    seen: evidence(file, `${name}: exit code ${ended.exitCode}, ${ended.reason}, ${restarts} restarts`, line),
  });
}

/** How controllers say that admission let no pod through. */
const FORBIDDEN = /security context constraint|violates PodSecurity|is forbidden/i;

export function readEvents(facts: Facts, file: string, text: string): void {
  for (const { reason, message = "", involvedObject: about } of itemsOf<KubeEvent>(text)) {
    if (!/konnectivity|drawbridge/.test(`${about?.name} ${about?.namespace}`)) continue;
    const shown = evidence(file, `${reason} ${about?.kind}/${about?.name}: ${message}`, lineOfName(text, message));
    if (reason === "FailedCreate" && FORBIDDEN.test(message)) facts.forbidden.add(shown);
    if (reason === "FailedScheduling") facts.unschedulable.add(shown);
  }
}

export function readDaemonSets(facts: Facts, file: string, text: string): void {
  type Template = {
    readonly spec?: { readonly template?: { readonly spec?: Pod["spec"] } };
    metadata?: Pod["metadata"];
  };
  for (const { spec, metadata } of itemsOf<Template>(text)) {
    const line = lineOfName(text, metadata?.name ?? "");
    for (const container of spec?.template?.spec?.containers ?? []) readContainer(facts, container, file, line);
  }
}

interface Inspection {
  readonly status?: {
    readonly metadata?: { readonly name?: string; readonly attempt?: number };
    readonly state?: string;
    readonly exitCode?: number;
    readonly reason?: string;
    readonly image?: { readonly image?: string };
  };
  readonly info?: { readonly runtimeSpec?: { readonly process?: { readonly args?: readonly string[] } } };
}

/** What `crictl inspect` prints. */
export function readInspection(facts: Facts, file: string, text: string): void {
  const inspection = parsed<Inspection>(text);
  const { metadata, state = "", exitCode, reason = "", image } = inspection?.status ?? {};
  const name = metadata?.name ?? "";
  if (!/^(konnectivity-(server|agent)|kube-apiserver)/.test(name)) return;
  const restarts = metadata?.attempt ?? 0;
  const found: ContainerState = {
    ...{ name, restarts, exitCode, reason, running: state === "CONTAINER_RUNNING" },
    seen: evidence(
      file,
      `${name}: ${state}, exit code ${exitCode}${reason && `, ${reason}`}, ${restarts} restarts`,
      lineOfName(text, state),
    ),
  };
  facts.containers.push(found);
  const args = inspection?.info?.runtimeSpec?.process?.args ?? [];
  readContainer(facts, { name, args, image: image?.image ?? "" }, file, lineOfName(text, "--"));
}

function parsed<T>(text: string): T | undefined {
  try {
    return (JSON.parse(text) as T | null) ?? undefined;
  } catch {
    return undefined;
  }
}

/** Where a text first stands, as JSON spells it. */
function lineOfName(text: string, name: string): number {
  const spelt = JSON.stringify(name).slice(1, -1);
  const at = name === "" ? -1 : text.indexOf(spelt);
  return at < 0 ? 1 : text.slice(0, at).split("\n").length;
}
