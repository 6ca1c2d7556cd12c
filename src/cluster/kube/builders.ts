/** Parts of Kubernetes objects that several renderings share. */
import { stringify } from "yaml";
import type { KubeManifest } from "./apply.js";
import { apiVersionOf, type Kind } from "./paths.js";

/** The object of a kind, with the version of the API that drawbridge uses. */
export const kubeManifest = (kind: Kind, metadata: KubeManifest["metadata"], body: object = {}): KubeManifest => ({
  apiVersion: apiVersionOf(kind),
  kind,
  metadata,
  ...body,
});

const RBAC_GROUP = "rbac.authorization.k8s.io";

/** What a binding adds to its metadata: the role of the same namespace, or the cluster's, for one service account. */
export const bindingOf = (
  kind: "Role" | "ClusterRole",
  role: string,
  account: { readonly name: string; readonly namespace: string },
) => ({
  roleRef: { apiGroup: RBAC_GROUP, kind, name: role },
  subjects: [{ kind: "ServiceAccount", ...account }],
});

/** The security context of a container that needs no rights on its node. */
export const UNPRIVILEGED = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ["ALL"] },
} as const;

/** A Secret or ConfigMap as files in a container. */
export interface FileVolume {
  readonly name: string;
  readonly secret?: string;
  readonly configMap?: string;
  readonly path: string;
  /** If undefined, 0640 for a Secret and 0644 for a ConfigMap. */
  readonly mode?: number;
}

export const mountsOf = (volumes: readonly FileVolume[]) =>
  volumes.map(({ name, path }) => ({ name, mountPath: path, readOnly: true }));

export const volumesOf = (volumes: readonly FileVolume[]) =>
  volumes.map(({ name, secret, configMap, mode }) => ({
    name,
    ...(secret === undefined ? {} : { secret: { secretName: secret, defaultMode: mode ?? 0o640 } }),
    ...(configMap === undefined ? {} : { configMap: { name: configMap, defaultMode: mode ?? 0o644 } }),
  }));

export const tcpPort = (port: number) => ({ protocol: "TCP", port });

/** One YAML document, with a comment on top if there is one. */
export function yamlText(value: object, comment = ""): string {
  const head = comment === "" ? "" : `${comment.replace(/^/gm, "# ")}\n`;
  return head + stringify(value, { aliasDuplicateObjects: false, lineWidth: 0 });
}
