/** `drawbridge bootstrap status`: the state of the bridge on this host. */

import { table } from "../../base/text.js";
import { thisHost } from "../../cluster/bootstrap/host/host.js";
import { checkStateDirectory } from "../../cluster/bootstrap/host/record.js";
import { type BridgeStatus, bridgeStatus } from "../../cluster/bootstrap/host/status.js";
import { openApi } from "../../cluster/bootstrap/host/step.js";
import { clusterFlags } from "../flags/kubernetes.js";
import { defineCommand } from "../framework/define.js";
import { stateDirFlag } from "./bridge-flags.js";

export default defineCommand({
  purpose:
    "Shows the state of the bridge on this host, step by step. Ends with 1 when something is not as it should be.",
  examples: ["drawbridge bootstrap status"],
  flags: {
    ...stateDirFlag,
    ...clusterFlags("an administrator", "the one that up used"),
  },
  config: ({ stateDir, ...cluster }, { env }) => ({ ...cluster, env, stateDirectory: checkStateDirectory(stateDir) }),
  async run(options) {
    return bridgeStatus(thisHost(), options, openApi);
  },
  show: statusText,
  exitCode: ({ ok }) => (ok ? 0 : 1),
});

export function statusText({ for: topology, address, until, lines, nodes, ok }: BridgeStatus): string {
  const rows = lines.map((line) => [line.name, line.ok ? (line.isEarly ? "waits" : "ok") : "WRONG", line.detail]);
  const places = (nodes ?? []).map(({ node, isReady, isConnected }) => [
    node,
    isReady ? "ready" : "not ready",
    isConnected ? "connected" : "no agent connected",
  ]);
  return [
    `Bridge for ${topology}, agents dial ${address}${until === undefined ? "" : `, ends ${until}`}\n\n`,
    table([["STEP", "STATE", "DETAIL"], ...rows]),
    nodes === undefined ? "" : `\n${table([["NODE", "STATE", "AGENT"], ...places])}`,
    ok ? "" : "\nSomething is not as it should be; drawbridge bootstrap up repairs what it can.\n",
  ].join("");
}
