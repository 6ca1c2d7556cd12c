/** How far each worker has come, and what exactly the next step waits for. */
import type { Condition, NodePool } from "../pool/node-pool.js";
import type { Worker } from "../workers/worker.js";
import { furnishingOf, hashOfNode, missingOn } from "./furnish.js";
import type { Scene } from "./look.js";
import { isReady, type Node, whyNotReady } from "./node.js";

export interface Lack {
  readonly what: string;
  readonly remedy: string;
}

export interface WorkerStanding {
  readonly name: string;
  readonly made: boolean;
  /** Whether its configuration was fetched: by it, by some machine of the pool, or by nobody that was seen. */
  readonly fetched: "yes" | "by the pool" | "unseen";
  readonly registered: boolean;
  readonly ready: boolean;
  /** Whether the pool's labels and taints are on its node. */
  readonly furnished: boolean;
  readonly configuration: "current" | "behind" | "unknown";
  /** The first thing that is not as it should be. */
  readonly lack: Lack | undefined;
}

export interface PoolReport {
  readonly name: string;
  readonly hash: string;
  readonly lacks: readonly Lack[];
}

/** False on platform None whatever happens, or none of our business. */
const quiet = [
  ...["AutoscalingEnabled", "UpdatingConfig", "UpdatingVersion"],
  ...["AllMachinesReady", "AllNodesHealthy", "ReachedIgnitionEndpoint"],
];

/** Nodes that joined tell more about the endpoint than a mark that somebody forgot to set. */
export function poolReport(name: string, { hash, pool }: Pick<Scene, "hash" | "pool">): PoolReport {
  const status = `drawbridge nodepool status ${pool.metadata?.name} shows everything about it`;
  const isWrong = (one: Condition) => one.status === "False" && !quiet.includes(one.type);
  const wrong = (pool.status?.conditions ?? []).filter(isWrong).map((one) => ({
    what: `${one.type} is False: ${one.message || one.reason}`,
    remedy: status,
  }));
  if (hash !== "") return { name, hash, lacks: wrong };
  const nothing = { what: "it has no configuration yet", remedy: `see that its controller runs; ${status}` };
  return { name, hash, lacks: wrong.length > 0 ? wrong : [nothing] };
}

function isReached(pool: NodePool): boolean {
  return (
    pool.status?.conditions?.some(({ status, type }) => type === "ReachedIgnitionEndpoint" && status === "True") ===
    true
  );
}

export function standingOf(worker: Worker, scene: Scene): WorkerStanding {
  const node = scene.nodes.get(worker.name);
  const furnished = node !== undefined && missingOn(node, furnishingOf(scene.pool)).length === 0;
  const fetched = fetchOf(worker, scene);
  return {
    ...{ name: worker.name, made: worker.made, fetched, registered: node !== undefined },
    ...{ ready: isReady(node), furnished, configuration: configurationOf(worker, node, scene.hash) },
    lack: lackOf(worker, node, fetched, scene),
  };
}

export function configurationOf(
  worker: Worker,
  node: Node | undefined,
  hash: string | undefined,
): WorkerStanding["configuration"] {
  if (hash === undefined || hash === "") return "unknown";
  // What the node says of itself goes before what it was meant to get.
  return ((node && hashOfNode(node)) ?? worker.hash) === hash ? "current" : "behind";
}

function fetchOf(worker: Worker, { claims, nodes, pool }: Scene): WorkerStanding["fetched"] {
  const since = Date.parse(worker.notBefore) - 10_000;
  const recent = claims.filter(({ at }) => at >= since);
  if (nodes.has(worker.name) || recent.some((claim) => claim.worker === worker.name)) return "yes";
  const isNameless = recent.some((claim) => claim.worker === undefined);
  return !worker.ownToken && (isNameless || isReached(pool)) ? "by the pool" : "unseen";
}

function lackOf(
  worker: Worker,
  node: Node | undefined,
  fetched: WorkerStanding["fetched"],
  scene: Scene,
): Lack | undefined {
  const { name } = worker;
  if (worker.leaving === "replaced")
    return { what: "it is being replaced", remedy: `go on with drawbridge workers replace ${name}` };
  if (worker.leaving === "removed")
    return { what: "it is being removed", remedy: "go on with drawbridge workers scale" };
  if (!worker.made && node === undefined) {
    return { what: "its machine was not made", remedy: "run drawbridge workers create or up again" };
  }
  if (node === undefined) return onItsWay(worker, fetched, scene);
  const why = whyNotReady(node);
  if (why !== "") return { what: `its node is not Ready: ${why}`, remedy: doctor(name) };
  if (node.spec?.unschedulable === true) {
    return { what: "its node is cordoned", remedy: `kubectl uncordon ${name}, unless somebody is at work on it` };
  }
  const missing = missingOn(node, furnishingOf(scene.pool));
  if (missing.length === 0) return undefined;
  return { what: `its node lacks ${missing.join(", ")}`, remedy: "drawbridge workers up puts them there" };
}

function onItsWay(worker: Worker, fetched: WorkerStanding["fetched"], { now, requests }: Scene): Lack {
  const { deadline, name } = worker;
  const request = requests?.get(name);
  if (request?.outcome === "pending") {
    const remedy = `drawbridge csr explain ${request.name} says why; is an approver running that knows the inventory?`;
    return { what: `its certificate request ${request.name} is pending`, remedy };
  }
  if (request?.outcome === "denied" || request?.outcome === "failed") {
    const remedy = `drawbridge csr explain ${request.name} says why; ${doctor(name)}`;
    return { what: `its certificate request ${request.name} was ${request.outcome}`, remedy };
  }
  if (request?.outcome === "approved") {
    return { what: `it got its certificate (${request.name}), and no node has registered yet`, remedy: doctor(name) };
  }
  if (now > Date.parse(deadline)) {
    const remedy = `drawbridge workers userdata ${name} --renew opens it again; then boot the machine with that user data`;
    return { what: `no node, and the time for its first certificate ended at ${deadline}`, remedy };
  }
  const what = {
    yes: "it fetched its configuration, and has asked for no certificate yet",
    "by the pool": `no node and no certificate request yet; ${worker.pool} was fetched by some machine`,
    unseen: "nobody has seen it fetch its configuration",
  }[fetched];
  return { what, remedy: doctor(name) };
}

function doctor(name: string): string {
  return `drawbridge workers doctor looks for the cause, of ${name} and the others`;
}
