/** A bridge to ask questions about, with whatever a test wants to be different. */
import type { Check, Result } from "../../../../base/check.js";
import { bridgeModel } from "../../model/model.js";
import type { ClusterEgress } from "../../settings/egress-config.js";
import type { Bridge } from "../bridge.js";
import { runChecks } from "../run-checks.js";

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

/** Asks one check as the command does. */
export async function ask(check: Check, signal = new AbortController().signal): Promise<Result> {
  const [result] = await runChecks([check], signal);
  return result!;
}

export async function askAll(checks: readonly Check[]): Promise<Readonly<Record<string, Result>>> {
  const results = await runChecks(checks, new AbortController().signal);
  return Object.fromEntries(results.map((result) => [result.id, result]));
}
