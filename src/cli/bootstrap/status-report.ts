/** How a bridge stands, for people. */

import { table } from "../../base/text.js";
import type { BridgeStatus } from "../../cluster/bootstrap/host/status.js";

export function statusText({ for: topology, address, until, lines, nodes, ok }: BridgeStatus): string {
  const rows = lines.map((line) => [line.name, line.ok ? "ok" : "WRONG", line.detail]);
  const places = (nodes ?? []).map(({ node, isReady, isConnected }) => [
    node,
    isReady ? "ready" : "not ready",
    isConnected ? "connected" : "no agent connected",
  ]);
  return [
    `Bridge for ${topology}, agents dial ${address}${until === undefined ? "" : `, ends ${until}`}\n\n`,
    table([["STEP", "STATE", "DETAIL"], ...rows]),
    nodes === undefined ? "" : `\n${table([["NODE", "STATE", "AGENT"], ...places])}`,
    ok ? "" : "\nSomething is not as it should be; drawbridge bootstrap up mends what it can.\n",
  ].join("");
}
