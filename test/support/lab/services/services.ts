import { fileURLToPath } from "node:url";
import { LabProcess } from "../process.js";
import type { Scope } from "../scope.js";

export interface ServiceOptions {
  /** Of the process and its log. */
  readonly name: string;
  readonly kubeconfig: string;
  /** Where it runs, and at which of its addresses pods find their DNS. */
  readonly netns: string;
  readonly address: string;
  /** Of the cluster. */
  readonly podNetwork: string;
  /** Nodes whose processes and pods are to reach Services. */
  readonly nodes: readonly string[];
}

/** Lets pods and nodes of the lab use Services by name and by address; returns once the first ones work. */
export async function startServices(
  scope: Scope,
  { name, kubeconfig, netns, address, podNetwork, nodes }: ServiceOptions,
): Promise<void> {
  const program = fileURLToPath(new URL("./main.ts", import.meta.url));
  const running = LabProcess.start(scope, {
    name,
    netns,
    command: [
      process.execPath,
      "--import",
      import.meta.resolve("tsx"),
      program,
      kubeconfig,
      address,
      podNetwork,
      ...nodes,
    ],
  });
  await running.ready("rules are written", 60_000, () => running.log().includes("written"));
}
