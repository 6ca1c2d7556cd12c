/** `drawbridge hosted verify` and `status`. */
import { hasFailed } from "../../base/finding.js";
import type { Values } from "../flags/flag.js";
import { defineCommand, type Input, VERSION } from "../framework/define.js";
import { hostedConfig, hostedFlags, requireKubeconfig, withClusters } from "./shared.js";

const common = {
  flags: hostedFlags,
  show: { text: ({ text }: Diagnosed) => text, json: ({ json }: Diagnosed) => json },
  exitCode: ({ isWrong }: Diagnosed) => (isWrong ? 1 : 0),
};

export const hostedVerify = defineCommand({
  ...common,
  purpose: `Checks whether the tunnel works: everything that status shows, and then every webhook (dry run) and aggregated API of
the hosted cluster, called by its own kube-apiserver. What fails is listed with what stops working.

It ends with 0 when nothing failed, with 1 otherwise.`,
  examples: ["drawbridge hosted verify --config demo.yaml --hosted-kubeconfig demo.kubeconfig"],
  run: (flags, input) => diagnose("verify", flags, input),
});

export const hostedStatus = defineCommand({
  ...common,
  purpose: `Shows the state of the tunnel: publishing, certificates, servers, agents, pod logs through the tunnel, and the
conditions that HyperShift has for it. It only reads. It ends with 0 when nothing failed, with 1 otherwise.`,
  examples: ["drawbridge hosted status --config demo.yaml --hosted-kubeconfig demo.kubeconfig"],
  run: (flags, input) => diagnose("status", flags, input),
});

interface Diagnosed {
  readonly text: string;
  readonly json: object;
  readonly isWrong: boolean;
}

async function diagnose(
  command: "verify" | "status",
  flags: Values<typeof hostedFlags>,
  input: Input,
): Promise<Diagnosed> {
  requireKubeconfig(flags);
  const config = await hostedConfig(flags, input);
  const { diagnoseHosted, hostedJson, hostedText } = await import("../../insight/diagnosis/hosted/verify.js");
  const findings = await withClusters(flags, (clusters) =>
    diagnoseHosted(command, { clusters, config, version: VERSION }),
  );
  return { text: hostedText(findings), json: hostedJson(findings), isWrong: hasFailed(findings) };
}
