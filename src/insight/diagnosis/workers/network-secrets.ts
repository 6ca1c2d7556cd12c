/** The Secrets that the cluster network waits for beside a hosted control plane, made as HyperShift makes them. */
import { messageOf } from "../../../base/errors/error.js";
import type { Fix } from "../../../base/finding.js";
import { isConflict } from "../../../cluster/kube/errors.js";
import { deleteIfPresent } from "../../../cluster/kube/objects.js";
import { collectionPath, namedPath } from "../../../cluster/kube/paths.js";
import type { Pod } from "../../../cluster/kube/pods.js";
import type { KubeApi } from "../../../cluster/kube/port.js";
import { encoded, nameOf, type ObjectName, pathOf, type Secret, secretText } from "../../../cluster/nodes/objects.js";
import { DAY_MS } from "../../../tunnel/pki/request.js";
import type { MissingSecret } from "../sources/cluster-network.js";
import type { PoolContext } from "../sources/pool.js";

type Data = NonNullable<Secret["data"]>;

/** A way to the data of the Secret: in words for the end of "make the Secret", and in deed. */
interface Recipe {
  readonly how: string;
  data(): Promise<Data>;
}

/**
 * Undefined when nothing here may make it. The hosted API server calls network-node-identity by name and trusts one
 * authority: where that is service-ca's, or where there is only a copy for another name, its calls would fail.
 */
export function recipeFor(missing: MissingSecret, now: () => number): Recipe | undefined {
  const { at, isServiceCas, ovnCert, rootCa, service } = missing;
  if (service === undefined) return undefined;
  const isVerified = service === "network-node-identity";
  if (isVerified && isServiceCas) return undefined;
  if (rootCa !== undefined) {
    const how = `issue its certificate from the Secret ${at.namespace}/root-ca`;
    return { how, data: () => issueAsHyperShift(rootCa, service, at.namespace, now()) };
  }
  if (ovnCert === undefined || isVerified) return undefined;
  // Only what pods mount: with its annotations, cluster-network-operator would manage the copy.
  return { how: `copy the Secret ovn-cert of ${ovnCert.where}`, data: async () => ovnCert.secret.data ?? {} };
}

/** Subject, names, key and lifetime as HyperShift's control-plane-operator has them, which then keeps the Secret as it is. */
async function issueAsHyperShift(rootCa: Secret, service: string, namespace: string, now: number): Promise<Data> {
  const { issueCertificate, loadAuthority } = await import("../../../tunnel/pki/issue.js");
  const [certificatePem, privateKeyPem] = ["ca.crt", "ca.key"].map((key) => secretText(rootCa, key) ?? "");
  const authority = await loadAuthority({ certificatePem: certificatePem!, privateKeyPem: privateKeyPem! });
  const made = await issueCertificate(authority, {
    ...{ commonName: service, organizations: ["openshift"], use: "both", key: "rsa2048", keyFormat: "pkcs1" },
    dnsNames: [`${service}.${namespace}.svc`, `${service}.${namespace}.svc.cluster.local`, service, "localhost"],
    // It issues anew what does not live exactly as long.
    ...{ validForMs: 365 * DAY_MS, backdateMs: 0, now: new Date(now) },
  });
  return {
    "tls.crt": encoded(made.certificatePem),
    "tls.key": encoded(made.privateKeyPem),
    "ca.crt": rootCa.data?.["ca.crt"] ?? "",
  };
}

/** Makes the Secret unless somebody else did, and lets the pods that wait for it start at once. */
export function provideSecret({ clusters }: PoolContext, { at, waiting }: MissingSecret, { data, how }: Recipe): Fix {
  return {
    what: `${how} to make the Secret ${pathOf(at)}, and delete the pods that wait for it, so that they are made again`,
    async apply() {
      const secret: Secret = { apiVersion: "v1", kind: "Secret", metadata: { ...at }, type: "kubernetes.io/tls" };
      try {
        await clusters.pools.create(collectionPath("Secret", at.namespace), { ...secret, data: await data() });
      } catch (reason) {
        if (isConflict(reason)) return `the Secret ${pathOf(at)} was there already`;
        throw reason;
      }
      return `the Secret ${pathOf(at)} is there now; ${await restart(clusters.pools, waiting)}`;
    },
  };
}

/** The kubelet tries a mount that failed again after up to two minutes. */
async function restart(api: KubeApi, waiting: readonly Pod[]): Promise<string> {
  const later = "pods that wait for it start within two minutes";
  if (waiting.length === 0) return later;
  const names: ObjectName[] = [];
  try {
    for (const pod of waiting) {
      const resourceVersion = pod.metadata?.resourceVersion;
      const path = namedPath("Pod", nameOf(pod));
      const isDeleted = await deleteIfPresent(api, path, resourceVersion === undefined ? {} : { resourceVersion }).then(
        () => true,
        (reason: unknown) => {
          // It has changed since, so it may have started.
          if (isConflict(reason)) return false;
          throw reason;
        },
      );
      if (isDeleted) names.push(nameOf(pod));
    }
  } catch (reason) {
    return `${later}; they could not be deleted: ${messageOf(reason)}`;
  }
  return names.length === 0 ? later : `deleted to be made again: ${names.map(pathOf).join(", ")}`;
}
