/**
 * The kube-apiserver's Deployment, which is somebody else's: what is read from it, the server that is brought into it, and
 * what it gets back.
 */
import { at } from "../../../base/at.js";
import { DrawbridgeError } from "../../../base/errors/error.js";
import { applyObject, type KubeManifest, type ObjectOutcome } from "../../kube/apply.js";
import { fieldsOf, isAppliedBy, joinedParts, type ManagedObject, ownedPart } from "../../kube/managed-fields.js";
import { againOnConflict, find } from "../../kube/objects.js";
import { namedPath, titleOf, typed } from "../../kube/paths.js";
import { hasContainer } from "../../kube/pods.js";
import type { KubeApi } from "../../kube/port.js";
import { isAtLeast } from "../../kube/version.js";
import type { HostedConfig } from "../config/config.js";
import { POD_GRACE_SECONDS } from "../model/arguments.js";
import type { HostedModel, ManagementFacts, PreStop, ServerPlace } from "../model/model.js";
import { FIELD_MANAGER, names } from "../model/names.js";
import { gracePart, SIDECARS_SINCE } from "../render/server.js";
import { giveBack, isEmpty, takingOver } from "./take-over.js";

interface Container {
  readonly name: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly ports?: readonly ContainerPort[];
  readonly lifecycle?: { readonly preStop?: object };
}

interface ContainerPort {
  readonly containerPort: number;
  readonly protocol?: string;
}

interface Deployment extends ManagedObject {
  readonly spec?: {
    readonly replicas?: number;
    readonly template?: {
      readonly spec?: {
        readonly containers?: readonly Container[];
        readonly initContainers?: readonly Container[];
        readonly terminationGracePeriodSeconds?: number;
      };
    };
  };
}

/** Ordinary ones, or those before them, native sidecars included. */
const containersOf = (deployment: Deployment | undefined, place: ServerPlace = "containers"): readonly Container[] =>
  deployment?.spec?.template?.spec?.[place] ?? [];

const read = (api: KubeApi, namespace: string) =>
  find<Deployment>(api, namedPath("Deployment", { namespace, name: names.apiServer }));

/** `isPatched`: the server is to be in the Deployment, where an apply brought it before or is asked to. Throws DB_HOSTED_CONFIG. */
export async function readApiServer(
  api: KubeApi,
  config: HostedConfig,
  isAsked: boolean,
): Promise<{ readonly isPatched: boolean; readonly facts: ManagementFacts }> {
  const { controlPlaneNamespace: namespace, image } = config;
  const deployment = await read(api, namespace);
  if (isAsked && deployment === undefined) {
    throw new DrawbridgeError(
      "DB_HOSTED_CONFIG",
      `There is no Deployment ${namespace}/${names.apiServer} that the server could be brought into; leave --patch-kube-apiserver out and put it beside your kube-apiservers yourself.`,
    );
  }
  const isPatched = isAsked || isOurs(deployment);
  const serverPlace = await serverPlaceIn(api, deployment, config);
  const preStop = isPatched && serverPlace === "containers" ? preStopIn(deployment!, image.kind) : undefined;
  const containers = containersOf(deployment);
  const facts = {
    apiServerPorts: openPorts([...containersOf(deployment, "initContainers"), ...containers]),
    shutdownDelaySeconds: shutdownDelay(containers),
    serverPlace,
    preStop,
  };
  return { isPatched, facts };
}

/** A container of others stays where it is; one of ours is moved by the apply that no longer names it. */
async function serverPlaceIn(
  api: KubeApi,
  deployment: Deployment | undefined,
  { nativeSidecar }: HostedConfig,
): Promise<ServerPlace> {
  const isThere = containersOf(deployment).some(({ name }) => name === names.server);
  if (!nativeSidecar || (isThere && !isOursAlone(deployment!))) return "containers";
  return (await isAtLeast(api, SIDECARS_SINCE)) ? "initContainers" : "containers";
}

/** Whether nobody else has a field of the server's ordinary container. */
function isOursAlone({ metadata }: Deployment): boolean {
  const path = ["f:spec", "f:template", "f:spec", "f:containers", `k:${JSON.stringify({ name: names.server })}`];
  const owners = (metadata?.managedFields ?? []).filter(({ fieldsV1 }) => at(fieldsV1, ...path) !== undefined);
  return owners.length > 0 && owners.every((entry) => isAppliedBy(entry, FIELD_MANAGER));
}

/** Whether an apply changed it before; what others put there stays theirs. */
const isOurs = (deployment: Deployment | undefined): boolean =>
  deployment !== undefined && fieldsOf(deployment, FIELD_MANAGER) !== undefined;

const otherContainers = (containers: readonly Container[]): readonly Container[] =>
  containers.filter(({ name }) => name !== names.server);

/** The values that the kube-apiserver's own container gives to a flag. */
function flagValues(containers: readonly Container[], flag: string): (string | undefined)[] {
  const { command = [], args = [] } = containers.find(({ name }) => name === names.apiServer) ?? {};
  const words = [...command, ...args];
  return words.flatMap((word, index) => (word === flag ? [words[index + 1]] : word.split(`${flag}=`).slice(1)));
}

/** A network policy closes what it does not name: the kube-apiserver's port, and all that its pods declare. */
function openPorts(containers: readonly Container[]): ManagementFacts["apiServerPorts"] {
  const secure = flagValues(containers, "--secure-port").map((port) => ({ containerPort: Number(port) }));
  const declared = otherContainers(containers).flatMap(({ ports = [] }) => ports);
  const byName = [...secure, ...declared]
    .filter(({ containerPort }) => Number.isInteger(containerPort))
    .map(
      ({ containerPort: port, protocol = "TCP" }: ContainerPort) =>
        [`${port} ${protocol}`, { protocol, port }] as const,
    );
  return [...new Map(byName).values()];
}

/** Undefined where no flag says it in whole minutes and seconds: it may be in a file of the kube-apiserver's. */
function shutdownDelay(containers: readonly Container[]): number | undefined {
  const given = flagValues(containers, "--shutdown-delay-duration").at(-1);
  const [, minutes, seconds] = /^(?=.)(?:(\d{1,3})m)?(?:(\d{1,4})s)?$/.exec(given ?? "") ?? [undefined];
  return minutes === undefined && seconds === undefined ? undefined : 60 * Number(minutes ?? 0) + Number(seconds ?? 0);
}

/** Containers may pause in one way only. */
function preStopIn(deployment: Deployment, kind: string): PreStop | undefined {
  const part = { containers: containersOf(deployment).filter(({ name }) => name === names.server) };
  const theirs = { spec: { template: { spec: part } } };
  const ours = ownedPart(theirs, fieldsOf(deployment, FIELD_MANAGER)) as Deployment;
  const handlerOf = (of: Deployment) => Object.keys(containersOf(of)[0]?.lifecycle?.preStop ?? {})[0];
  const handler = handlerOf(theirs);
  if (handler === handlerOf(ours) || handler === undefined) return undefined;
  if (handler === "sleep") return "theirs";
  if (kind !== "upstream") return undefined;
  throw new DrawbridgeError(
    "DB_HOSTED_CONFIG",
    `Container ${names.server} of ${titleOf(typed("Deployment", deployment))} has a preStop.${handler}, for which upstream's image has no program, and a container has one preStop only; take it out of the Deployment, or let image.kind be drawbridge or payload.`,
  );
}

const NO_PAUSE =
  "the server ends without a pause: it is no native sidecar, and upstream's image has no program that sleeps";

/**
 * Brings the server into the Deployment. Fields of others are taken over only with `force`, but for the time that pods have
 * to end: with less of it the pause before the end is cut short.
 */
export async function applyToApiServer(
  api: KubeApi,
  patch: KubeManifest,
  { preStop, replicas, serverPlace }: Pick<HostedModel, "preStop" | "replicas" | "serverPlace">,
  { dryRun, force }: { readonly dryRun: boolean; readonly force: boolean },
): Promise<ObjectOutcome> {
  const deployment = (await read(api, patch.metadata.namespace!)) ?? {};
  const options = { fieldManager: FIELD_MANAGER, dryRun };
  if (!force) await applyObject(api, patch, { ...options, dryRun: true });
  const { manifest, why } = takingOver(joinedParts(patch, neededGrace(deployment)) as KubeManifest, deployment);
  const outcome = await applyObject(api, manifest, { ...options, force: true });
  const noPause = serverPlace === "containers" && preStop === "none" ? NO_PAUSE : undefined;
  const words = [why, noPause, otherCount(deployment, replicas)].filter((each) => each !== undefined);
  return { cluster: "management", ...outcome, ...(words.length > 0 && { why: words.join("; ") }) };
}

/** Agents that look for more servers than there are never become ready, and with fewer they may miss some. */
function otherCount({ spec }: Deployment, wanted: number): string | undefined {
  const { replicas = wanted } = spec ?? {};
  // One without pods is yet to be scaled.
  if (replicas === wanted || replicas === 0) return undefined;
  const count = `${replicas} ${replicas === 1 ? "replica" : "replicas"}`;
  return `it has ${count}, but agents look for ${wanted} servers: let replicas in the description be the same`;
}

/** Named when pods have less than they need, or because of us. */
function neededGrace(deployment: Deployment) {
  const now = deployment.spec?.template?.spec?.terminationGracePeriodSeconds ?? 0;
  const isOurs = !isEmpty(ownedPart(gracePart, fieldsOf(deployment, FIELD_MANAGER)));
  return now < POD_GRACE_SECONDS || isOurs ? gracePart : {};
}

/**
 * Takes the server out again and gives back what was taken over, in one write. Throws DB_HOSTED_IN_USE when a server of
 * others stays there, unless `force`. Undefined: nothing of it was ours.
 */
export async function releaseApiServer(
  api: KubeApi,
  { namespace }: HostedModel,
  { force }: { readonly force: boolean },
): Promise<ObjectOutcome | undefined> {
  return againOnConflict(5, async () => {
    const deployment = await read(api, namespace);
    const mine = deployment && fieldsOf(deployment, FIELD_MANAGER);
    if (!force && mine === undefined) refuseWhileInUse(deployment, namespace);
    if (deployment === undefined || mine === undefined) return undefined;
    await giveBack(api, typed("Deployment", deployment), (after) => force || refuseWhileInUse(after, namespace));
    return { cluster: "management", object: titleOf(typed("Deployment", deployment)), action: "released" };
  });
}

function refuseWhileInUse(deployment: Deployment | undefined, namespace: string): void {
  if (!hasContainer(deployment?.spec?.template?.spec, names.server)) return;
  throw new DrawbridgeError(
    "DB_HOSTED_IN_USE",
    `Deployment ${namespace}/${names.apiServer} has a container ${names.server} of others, and none of its pods would start again.`,
  );
}
