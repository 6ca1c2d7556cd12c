/** `drawbridge nodepool controller`: the controller of pools, which runs until it gets a signal. */
import { runController } from "../../cluster/nodes/controller/run.js";
import { IGNITION_CA_SECRET, SERVING_CERTIFICATE_SECRET } from "../../cluster/nodes/objects.js";
import { yesNo } from "../flags/flag.js";
import { defineCommand } from "../framework/define.js";
import { accessFlags, healthFlags, healthOf, openObjects } from "../framework/objects.js";
import { CLUSTER_HELP } from "./apply.js";

export default defineCommand({
  purpose: `Watches the pools of a namespace and keeps for each the token Secret, the user-data Secret and the status that belong to its
configuration. Several replicas elect one that writes. It refuses to run where HyperShift does. With --directory it
works on YAML files instead of a cluster.

With --issue-certificate it also makes an authority and a certificate for the Ignition server (Secrets ${IGNITION_CA_SECRET} and
${SERVING_CERTIFICATE_SECRET}), for whatever addresses the clusters publish; it issues a new one when these change and a month
before its end. Clusters with an ignitionCA of their own are left out.

Conditions that need HyperShift are never set: ValidReleaseImage (unless something is wrong), SupportedVersionSkew. Those of
machines and nodes are drawbridge workers controller's.

${CLUSTER_HELP}`,
  examples: ["drawbridge nodepool controller --namespace clusters --issue-certificate"],
  flags: {
    ...accessFlags,
    ...healthFlags(),
    "issue-certificate": yesNo(
      `Keep the Ignition server's certificate in the Secret ${SERVING_CERTIFICATE_SECRET}, for the addresses of the clusters that name no ignitionCA.`,
    ),
  },
  async run(flags) {
    const health = healthOf(flags);
    return runController({
      api: await openObjects(flags),
      namespace: flags.namespace,
      isCluster: flags.directory === "",
      issuesCertificate: flags.issueCertificate,
      health,
    });
  },
});
