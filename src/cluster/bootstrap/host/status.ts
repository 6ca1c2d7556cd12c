/** The present state of a bridge. Changes nothing. */
import { DrawbridgeError, reasonOf } from "../../../base/errors/error.js";
import type { StrategyCount } from "../../../tunnel/events/facts.js";
import { strategyCountsIn, strategyCountsText } from "../../../tunnel/server/strategy-counts.js";
import { type CleanupState, cleanupEffort, readCleanupState } from "../model/cleanup.js";
import { CLEANUP_UNIT, openshiftHost } from "../model/names.js";
import { runningApiServers } from "./api-server.js";
import { octal } from "./files.js";
import type { Host } from "./host.js";
import { RecordKeeper } from "./record.js";
import { ApiAccess, chosenCluster, type OpenApi, type Site, type StepState } from "./step.js";
import { nodeConnections } from "./steps/agents.js";
import { addressNow, certificatesEnd } from "./steps/host.js";
import { healthUrl } from "./steps/server.js";
import { stepsOf } from "./up.js";

export interface StatusOptions {
  readonly stateDirectory: string;
  /** Empty: as recorded. */
  readonly kubeconfig: string;
  readonly context: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface StatusLine {
  readonly name: string;
  readonly title: string;
  readonly ok: boolean;
  readonly detail: string;
  /** It is in order only because nobody needs it yet. */
  readonly isEarly?: true;
}

export type BridgeStatus = Awaited<ReturnType<typeof bridgeStatus>>;

/** Throws DB_BRIDGE_ABSENT without a bridge. */
export async function bridgeStatus(host: Host, options: StatusOptions, openApi: OpenApi) {
  const keeper = await RecordKeeper.find(host, options.stateDirectory);
  if (keeper === undefined) {
    const cleanup = await unfinishedCleanup(host);
    const left = cleanup === undefined ? "" : `, and ${cleanupSentence(cleanup)}; ${cleanupRemedy(cleanup)}`;
    throw new DrawbridgeError("DB_BRIDGE_ABSENT", `No bridge is recorded in ${options.stateDirectory}${left}.`);
  }
  const { record, model } = keeper;
  const api = new ApiAccess(host, openApi, chosenCluster(options, record), record.setting);
  try {
    const site: Site = { host, keeper, model, api, timeoutMs: 0 };
    const choose = () => addressNow(host, { address: undefined, env: options.env }, record);
    const lines: StatusLine[] = [];
    const strategies = strategyCountsIn((await host.ask(healthUrl(model, "/metrics")))?.body ?? "");
    for (const { name, title, check } of stepsOf(site, { apply: false, isApiReady: true, choose })) {
      const { state, ...more } = await check().catch(wrongBecause);
      lines.push({ name, title, ok: state === "done", ...more });
      if (name === "server") lines.push(...(await listeners(site, strategies)));
    }
    return {
      ok: lines.every(({ ok }) => ok),
      for: model.for,
      address: model.serverAddresses[0],
      namespace: model.namespace,
      madeAt: record.madeAt,
      /** ISO 8601; undefined before the certificates are made. */
      until: await certificatesEnd(site),
      lines,
      /** How many agents each strategy of the server has; absent when it does not say. */
      ...(strategies && { strategies }),
      /** Undefined when the API did not say. */
      nodes: await api
        .cluster()
        .then((kube) => nodeConnections(kube, model))
        .catch(() => undefined),
    };
  } finally {
    await api.close();
  }
}

/** A bridge that `inject` brought is not recorded by `up`; what is left of it is said all the same. */
export async function unfinishedCleanup({ files }: Pick<Host, "files">): Promise<CleanupState | undefined> {
  const cleanup = readCleanupState((await files.read(openshiftHost.cleanupState)) ?? "");
  return cleanup?.state === "removed" ? undefined : cleanup;
}

export function cleanupSentence(cleanup: CleanupState): string {
  const how = `${CLEANUP_UNIT} ${cleanupEffort(cleanup)} (last error: ${cleanup.lastError})`;
  return cleanup.left === "files"
    ? `files of an injected bridge are still on this host: ${how}`
    : `the objects of an injected bridge are still in the cluster's namespace ${cleanup.namespace}: ${how}`;
}

export const cleanupRemedy = ({ left }: CleanupState): string =>
  left === "files"
    ? "make their file system writable, or remove them by hand"
    : "drawbridge bootstrap teardown --kubeconfig FILE removes them from anywhere";

const wrongBecause = (reason: unknown): StepState => ({
  state: "wrong",
  detail: reasonOf(reason),
});

function portDetail(port: number, isOpen: boolean, hasServer: boolean): string {
  if (!isOpen) return `nothing listens on TCP ${port}`;
  if (hasServer) return `TCP ${port} listens`;
  return `TCP ${port} listens, but no server answers on its health port: it may be another process's, ss -ltnp shows whose`;
}

/** Where kube-apiserver and agents come in. */
async function listeners(
  { host, model }: Site,
  strategies: readonly StrategyCount[] | undefined,
): Promise<StatusLine[]> {
  const { paths, ports } = model;
  const socket = await host.files.status(paths.socket.host);
  const isOpen = await host.listens(ports.agent);
  const ready = await host.ask(healthUrl(model, "/readyz"));
  const { using } = await runningApiServers(host, model);
  const reason = ready?.body.trim() || "it gives no reason";
  const counts = strategies === undefined ? [] : [strategyCountsText(strategies)];
  const isEarly = ready !== undefined && ready.status !== 200 && using.length === 0;
  const because = isEarly ? "no agent yet, and none is needed while no kube-apiserver uses it" : reason;
  const isSocket = socket?.kind === "socket";
  const there = isSocket ? `mode ${octal(socket.mode)}` : "there is something else in its place";
  return [
    {
      name: "socket",
      title: "Socket for the kube-apiserver",
      ok: isSocket,
      detail: socket === undefined ? `${paths.socket.host} is not there` : there,
    },
    {
      name: "port",
      title: "Port for agents",
      ok: isOpen && ready !== undefined,
      detail: portDetail(ports.agent, isOpen, ready !== undefined),
    },
    {
      name: "ready",
      title: "Server has an agent",
      ok: ready?.status === 200 || isEarly,
      detail: ready === undefined ? "its health port does not answer" : [because, ...counts].join("; "),
      ...(isEarly && { isEarly }),
    },
  ];
}
