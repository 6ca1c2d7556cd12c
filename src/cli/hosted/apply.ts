/** `drawbridge hosted apply`, `diff` and `delete`. */
import { applyHosted, deleteHosted, type HostedReport } from "../../cluster/hosted/apply/apply.js";
import { isChange, outcomesText } from "../../cluster/kube/apply.js";
import { duration, oneOf, type Values, yesNo } from "../flags/flag.js";
import { defineCommand, type Input, VERSION } from "../framework/define.js";
import { hostedFlags, withDescribedClusters } from "./shared.js";

const applyFlags = {
  ...hostedFlags,
  "force-conflicts": yesNo("Take over fields that another manager set."),
  "rotate-signers": oneOf(
    ["introduce", "switch", "retire"],
    "New signers without a break, one step at a time: introduce, switch, retire; wait for all pods in between.",
  ),
  "patch-kube-apiserver": yesNo(
    "Also put the server into the Deployment kube-apiserver; the kube-apiserver's flag stays its owner's to add.",
  ),
  wait: duration("1m", "How long to wait for an address that the cluster assigns."),
};

export const hostedApply = defineCommand({
  purpose: `Brings the management cluster and, with --hosted-kubeconfig, the hosted cluster in line with the description, by
server-side apply, and removes what is no longer wanted. Certificates are kept in the control plane's Secrets: made the
first time, issued again when they near their end, no longer fit the description, or were signed by another signer.`,
  examples: ["drawbridge hosted apply --config demo.yaml --hosted-kubeconfig demo.kubeconfig"],
  flags: applyFlags,
  run: (flags, input) => apply(flags, input, false),
  show: (report) => reportText("issued", report),
});

export const hostedDiff = defineCommand({
  purpose:
    "Shows what apply would change, and changes nothing. Ends with 0 when there is nothing, with 3 when there is.",
  examples: ["drawbridge hosted diff --config demo.yaml --hosted-kubeconfig demo.kubeconfig"],
  flags: applyFlags,
  run: (flags, input) => apply(flags, input, true),
  show: (report) => reportText("would be issued", report),
  exitCode: ({ objects }) => (objects.some(isChange) ? 3 : 0),
});

export const hostedDelete = defineCommand({
  purpose: "Removes everything that apply made, from both clusters, certificates included.",
  examples: ["drawbridge hosted delete --config demo.yaml --hosted-kubeconfig demo.kubeconfig"],
  flags: { ...hostedFlags, force: yesNo("Delete although a kube-apiserver still has the server.") },
  run: (flags, input) =>
    withDescribedClusters(flags, input, (clusters, config) =>
      deleteHosted(clusters, config, { version: VERSION, force: flags.force }),
    ),
  show: (report) => reportText("issued", report),
});

function apply(flags: Values<typeof applyFlags>, input: Input, dryRun: boolean): Promise<HostedReport> {
  const { forceConflicts: force, patchKubeApiserver: patchApiServer, rotateSigners: rotation, wait: waitMs } = flags;
  const options = { version: VERSION, dryRun, force, patchApiServer, rotation, waitMs };
  return withDescribedClusters(flags, input, (clusters, config) => applyHosted(clusters, config, options));
}

function reportText(verb: string, { objects, issued }: HostedReport): string {
  return issued.map(({ name, why }) => `certificate ${name} ${verb}: ${why}\n`).join("") + outcomesText(objects);
}
