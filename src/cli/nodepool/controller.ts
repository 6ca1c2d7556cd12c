/** `drawbridge nodepool controller`: the controller of pools, which runs until it gets a signal. */

import { OWNER_LABEL, OWNER_NAME } from "../../cluster/nodes/controller/hypershift.js";
import { runController } from "../../cluster/nodes/controller/run.js";
import { BOOTSTRAPPER } from "../../cluster/nodes/csr/request-context.js";
import {
  BOOTSTRAP_SECRET,
  IGNITION_CA_SECRET,
  pathOf,
  SERVING_CERTIFICATE_SECRET,
} from "../../cluster/nodes/objects.js";
import { type Values, yesNo } from "../flags/flag.js";
import { hostedCluster, openCluster, secondClusterFlags } from "../flags/kubernetes.js";
import { refused } from "../flags/parse.js";
import { defineCommand } from "../framework/define.js";
import { accessFlags, healthFlags, healthOf, openObjects } from "../framework/objects.js";
import { CLUSTER_HELP } from "./apply.js";

const controllerFlags = {
  ...accessFlags,
  ...healthFlags(),
  "issue-certificate": yesNo(
    `Keep the Ignition server's certificate in the Secret ${SERVING_CERTIFICATE_SECRET}, for the addresses of the clusters that name no ignitionCA.`,
  ),
  "issue-bootstrap-kubeconfig": yesNo(`Keep the kubeconfig that machines join with in the Secret ${BOOTSTRAP_SECRET}.`),
  ...secondClusterFlags("hosted", "the cluster that machines join", "it is that of --kubeconfig"),
};

function check(flags: Values<typeof controllerFlags>): void {
  const { directory, hostedContext, hostedKubeconfig, issueBootstrapKubeconfig } = flags;
  if (issueBootstrapKubeconfig && directory !== "")
    throw refused(
      `--issue-bootstrap-kubeconfig needs a cluster: a directory issues no tokens, so put the Secret ${BOOTSTRAP_SECRET} there yourself`,
    );
  if (hostedKubeconfig + hostedContext !== "" && !issueBootstrapKubeconfig)
    throw refused("--hosted-kubeconfig and --hosted-context need --issue-bootstrap-kubeconfig");
}

export default defineCommand({
  purpose: `Watches the pools of a namespace and keeps for each the token Secret, the user-data Secret and the status that belong to its
configuration. Several replicas elect one that writes. It refuses to run where HyperShift does. With --directory it
works on YAML files instead of a cluster.

With --issue-certificate it also makes an authority and a certificate for the Ignition server (Secrets ${IGNITION_CA_SECRET} and
${SERVING_CERTIFICATE_SECRET}), for whatever addresses the clusters publish; it issues a new one when these change and a month
before its end. Clusters with an ignitionCA of their own are left out.

With --issue-bootstrap-kubeconfig it makes the kubeconfig that machines join with (Secret ${BOOTSTRAP_SECRET}) from apiServer and
apiServerCA of the cluster and a token of the ServiceAccount ${pathOf(BOOTSTRAPPER)}, for a week
at most; it makes a new one after half of that time, when the cluster's API server changes, and when the token is refused. A
Secret without the label ${OWNER_LABEL}=${OWNER_NAME} is left alone. Where machines join another cluster than the one with
the pools, --hosted-kubeconfig names it; create serviceaccounts/token is all that is needed there.

Conditions that need HyperShift are never set: ValidReleaseImage (unless something is wrong), SupportedVersionSkew. Those of
machines and nodes are drawbridge workers controller's.

${CLUSTER_HELP}`,
  examples: ["drawbridge nodepool controller --namespace clusters --issue-certificate"],
  flags: controllerFlags,
  async run(flags) {
    check(flags);
    const health = healthOf(flags);
    return runController({
      api: await openObjects(flags),
      joined: flags.issueBootstrapKubeconfig ? await openCluster(hostedCluster(flags) ?? flags) : undefined,
      namespace: flags.namespace,
      isCluster: flags.directory === "",
      issuesCertificate: flags.issueCertificate,
      health,
    });
  },
});
