/** A bridge for tests, with whatever a test wants to be different. */
import type { Finding } from "../../../base/finding.js";
import { bridgeModel } from "../../../cluster/bootstrap/model/model.js";
import type { ClusterEgress } from "../../../cluster/bootstrap/settings/egress-config.js";
import type { Check } from "../check.js";
import { runChecks } from "../run.js";
import type { Bridge } from "../sources/bridge.js";
import { type BridgeApi, bridgeSource } from "../sources/bridge.js";

export function bridgeOf(differences: Partial<Bridge> = {}): Bridge {
  const model = bridgeModel({ for: "bare" });
  return {
    model,
    namespace: model.namespace,
    frontend: { mode: "grpc", uds: model.paths.socket.host },
    health: "http://127.0.0.1:1",
    address: undefined,
    agentPort: model.ports.agent,
    pki: { directory: "/nonexistent/drawbridge/pki", given: false },
    egress: { state: "absent", path: model.paths.egressConfig.host },
    server: undefined,
    apiServer: { running: undefined, manifest: undefined },
    resolve: "endpoints",
    ...differences,
  };
}

export function egressRead(cluster: Partial<ClusterEgress>): Bridge["egress"] {
  const path = bridgeModel({ for: "bare" }).paths.egressConfig.host;
  return { state: "read", path, cluster: { protocol: "GRPC", uds: undefined, tcp: undefined, ...cluster } };
}

/** The first finding of a check on the facts of a bridge. */
export async function ask(check: Check, differences: Partial<Bridge> = {}, access?: BridgeApi): Promise<Finding> {
  const source = bridgeSource(bridgeOf(differences), access ?? { api: undefined, problem: undefined });
  const [finding] = await runChecks([check], source);
  return finding!;
}
