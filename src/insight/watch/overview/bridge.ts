/** The bridge on this host as the page shows it: the steps of `bootstrap status`, and who has to do what is left. */

import { DrawbridgeError } from "../../../base/errors/error.js";
import type { Host, HostProcess } from "../../../cluster/bootstrap/host/host.js";
import type { SettingMethod } from "../../../cluster/bootstrap/host/record.js";
import type { BridgeStatus, StatusLine } from "../../../cluster/bootstrap/host/status.js";
import type { BridgeInfo, BridgeStepState } from "../../observe/admin/contract.js";
import type { FactProvider } from "./overview.js";

export interface BridgeCircumstances {
  /** `bootstrap up` runs at this moment. */
  readonly atWork: boolean;
  /** How the kube-apiserver comes to its flag. */
  readonly setting: SettingMethod;
  readonly flag: string;
}

const MAX_NODES = 200;
const MAX_DETAIL = 500;
const MENDS = "drawbridge bootstrap up fixes what it can, and goes on where it stopped";

export function bridgeInfo(status: BridgeStatus, circumstances: BridgeCircumstances): BridgeInfo {
  const { for: topology, address, madeAt, until, lines, nodes } = status;
  const current = lines.findIndex(({ ok }) => !ok);
  return {
    ...{ for: topology, address, madeAt: Date.parse(madeAt) },
    untilAt: until === undefined ? undefined : Date.parse(until),
    steps: lines.map((line, index) => stepOf(line, index === current, circumstances)),
    nodes: nodes?.slice(0, MAX_NODES).map(({ node: name, isReady: ready, isConnected: connected }) => {
      return { name, ready, connected };
    }),
  };
}

/** Where `up` recorded none: what an injected bridge left in the cluster. */
export async function injectedInfo(host: Pick<Host, "files">): Promise<BridgeInfo> {
  const { unfinishedCleanup, cleanupSentence, cleanupRemedy } = await import(
    "../../../cluster/bootstrap/host/status.js"
  );
  const cleanup = await unfinishedCleanup(host);
  if (cleanup === undefined) return { steps: [] };
  const detail = cleanupSentence(cleanup).slice(0, MAX_DETAIL);
  const title = cleanup.left === "files" ? "Files removed from this host" : "Objects removed from the cluster";
  const step = { name: "cleanup", title, detail, remedy: cleanupRemedy(cleanup) };
  return { steps: [{ ...step, state: cleanup.state === "pending" ? "running" : "failed" }] };
}

function stepOf(line: StatusLine, isCurrent: boolean, { atWork, setting, flag }: BridgeCircumstances): BridgeStepState {
  const { name, title, ok } = line;
  const step = { name, title, detail: line.detail.slice(0, MAX_DETAIL) };
  if (ok) return { ...step, state: line.isEarly ? "waiting" : "done" };
  if (name === "kube-apiserver" && isLeftToAPerson(setting)) {
    const other = setting.by === "manifest" ? "; drawbridge bootstrap up --apply does it for you" : "";
    return { ...step, state: "waiting", remedy: `Add ${flag} to the kube-apiserver's command and restart it${other}` };
  }
  if (atWork) return { ...step, state: isCurrent ? "running" : "waiting" };
  return { ...step, state: "failed", remedy: MENDS };
}

function isLeftToAPerson(setting: SettingMethod): boolean {
  return setting.by === "hand" || (setting.by === "manifest" && setting.edit === undefined);
}

/** Whether somebody brings up the bridge of this state directory. */
export function isUpAtWork(processes: readonly HostProcess[], stateDirectory: string, otherwise: string): boolean {
  return processes.some(({ argv }) => {
    const at = argv.indexOf("bootstrap");
    if (at < 0 || argv[at + 1] !== "up") return false;
    const words = argv.slice(at + 2);
    const flag = words.findIndex((word) => word === "--state-dir" || word.startsWith("--state-dir="));
    if (flag < 0) return stateDirectory === otherwise;
    return words[flag] === `--state-dir=${stateDirectory}` || words[flag + 1] === stateDirectory;
  });
}

export async function bridgeProvider(stateDirectory: string): Promise<FactProvider> {
  const [{ bridgeStatus }, { thisHost }, { openApi }, records, { instructionsFor }] = await Promise.all([
    import("../../../cluster/bootstrap/host/status.js"),
    import("../../../cluster/bootstrap/host/host.js"),
    import("../../../cluster/bootstrap/host/step.js"),
    import("../../../cluster/bootstrap/host/record.js"),
    import("../../../cluster/bootstrap/host/api-server.js"),
  ]);
  const host = thisHost();
  const ask = async (): Promise<BridgeInfo> => {
    const keeper = await records.RecordKeeper.find(host, stateDirectory);
    if (keeper === undefined) return injectedInfo(host);
    const { setting } = keeper.record;
    const { flag } = instructionsFor(keeper.model, setting);
    const atWork = isUpAtWork(await host.processes(), stateDirectory, records.DEFAULT_STATE_DIRECTORY);
    // Its own cluster, as up recorded it: the page's may be another.
    const status = await bridgeStatus(host, { stateDirectory, kubeconfig: "", context: "", env: process.env }, openApi);
    return bridgeInfo(status, { atWork, setting, flag });
  };
  return {
    what: "bridge",
    where: stateDirectory,
    ask: async () => ({
      facts: {
        bridge: await ask().catch((reason: unknown) => {
          // A teardown may come in between.
          if (reason instanceof DrawbridgeError && reason.code === "DB_BRIDGE_ABSENT") return { steps: [] };
          throw reason;
        }),
      },
    }),
  };
}
