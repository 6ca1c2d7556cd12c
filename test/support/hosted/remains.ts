import type { Kubectl } from "../lab/kubectl.js";

const KINDS =
  "secrets,configmaps,services,endpoints,networkpolicies,serviceaccounts,roles,rolebindings,deployments,daemonsets,apiservices";

/** What there is of a control plane's tunnel in a cluster, by the label that all of it carries; empty when nothing. */
export async function remainsOf(admin: Kubectl, controlPlaneNamespace: string): Promise<string> {
  const ours = `drawbridge-hosted=${controlPlaneNamespace}`;
  // A cluster's own slices carry the labels of our Services.
  const slices = `${ours},endpointslice.kubernetes.io/managed-by=drawbridge-hosted`;
  const all = await admin.run(["get", KINDS, "-A", "-l", ours, "-oname"]);
  return (all + (await admin.run(["get", "endpointslices", "-A", "-l", slices, "-oname"]))).trim();
}
