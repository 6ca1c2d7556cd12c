/** `drawbridge hosted verify` and `status`. */
import { type Finding, hasFailed } from "../../base/finding.js";
import { diagnoseHosted, hostedJson, hostedText } from "../../insight/diagnosis/hosted.js";
import type { Values } from "../flags/flag.js";
import { defineCommand, type Input, VERSION } from "../framework/define.js";
import { hostedFlags, withDescribedClusters } from "./shared.js";

const common = {
  flags: hostedFlags,
  show: { text: hostedText, json: hostedJson },
  exitCode: (findings: readonly Finding[]) => (hasFailed(findings) ? 1 : 0),
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

const diagnose = (command: "verify" | "status", flags: Values<typeof hostedFlags>, input: Input) =>
  withDescribedClusters(flags, input, (clusters, config) =>
    diagnoseHosted(command, { clusters, config, version: VERSION }),
  );
