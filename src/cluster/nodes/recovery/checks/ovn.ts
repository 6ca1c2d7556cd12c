/**
 * The certificate that ovnkube-control-plane waits for beside a hosted control plane. The hosted cluster's own service
 * authority makes it in there; on user-managed machines nobody may have brought it out.
 */
import { isConflict } from "../../../kube/errors.js";
import { find } from "../../../kube/objects.js";
import { collectionPath, namedPath } from "../../../kube/paths.js";
import type { KubeApi } from "../../../kube/port.js";
import { type ObjectName, pathOf, type Secret } from "../../objects.js";
import { type Ailment, type Fix, fine, trouble, unasked } from "../ailment.js";
import type { Patient, Surgery } from "../patient.js";
import { notReady } from "./nodes.js";

const NAME = "ovn-control-plane-metrics-cert";
const HOSTED_NAMESPACE = "openshift-ovn-kubernetes";

export async function checkOvnCertificate({ clusters, isHosted }: Surgery, patient: Patient): Promise<Ailment[]> {
  const about = { id: "ovn-certificate", subject: pathOf(patient.pool) };
  if (!isHosted)
    return [unasked(about, "nodes join the pool's own cluster", "Name another one with --hosted-kubeconfig.")];
  const source = { namespace: HOSTED_NAMESPACE, name: NAME };
  const target = { namespace: patient.controlPlane, name: NAME };
  const [inside, outside] = await Promise.all([
    find<Secret>(clusters.nodes, namedPath("Secret", source)),
    find<Secret>(clusters.pools, namedPath("Secret", target)),
  ]);
  if (outside !== undefined) return [fine(about, `the Secret ${pathOf(target)} is there`)];
  if (inside === undefined) return [unasked(about, `the hosted cluster has no Secret ${pathOf(source)} to be copied`)];
  const waiting = notReady(patient);
  return [
    trouble(about, {
      code: "DB_NODE_OVN_CERT",
      finding: `the Secret ${pathOf(target)} is missing, so the cluster network of ${patient.object.spec?.clusterName} does not start`,
      evidence: [
        `hosted cluster: Secret ${pathOf(source)} is there`,
        `management cluster: Secret ${pathOf(target)} is not`,
        ...(waiting.length === 0 ? [] : [`not Ready: ${waiting.join(", ")}`]),
      ],
      fix: copying(clusters.pools, inside, target),
    }),
  ];
}

/** Only what pods mount; annotations would make the other cluster's controllers think that it is theirs. */
function copying(api: KubeApi, { data = {}, type = "kubernetes.io/tls" }: Secret, target: ObjectName): Fix {
  return {
    what: `copy the Secret ${NAME} from ${HOSTED_NAMESPACE} of the hosted cluster into ${target.namespace} of the management cluster`,
    apply: async () => {
      const secret: Secret = { apiVersion: "v1", kind: "Secret", metadata: { ...target }, type, data };
      try {
        await api.create(collectionPath("Secret", target.namespace), secret);
        return `the Secret ${pathOf(target)} is there now; pods that wait for it start within two minutes`;
      } catch (reason) {
        if (isConflict(reason)) return `the Secret ${pathOf(target)} was there already`;
        throw reason;
      }
    },
  };
}
