import { writeFileSync } from "node:fs";
import type { Kubectl } from "./kubectl.js";

/** Who agents are, for whom their tokens are meant, and who the server is when it asks about them. */
export const AGENT_NAMESPACE = "kube-system";
export const AGENT_ACCOUNT = "konnectivity-agent";
export const AUDIENCE = "system:konnectivity-server";
export const SERVER_USER = "system:konnectivity-server";

const metadata = (name: string) => ({ name, namespace: AGENT_NAMESPACE });
const rbac = "rbac.authorization.k8s.io";
const subjectOf = {
  server: { apiGroup: rbac, kind: "User", name: SERVER_USER },
  agent: { kind: "ServiceAccount", name: AGENT_ACCOUNT, namespace: AGENT_NAMESPACE },
};

const leaseRole = (name: string, verbs: readonly string[]) => ({
  apiVersion: `${rbac}/v1`,
  kind: "Role",
  metadata: metadata(name),
  rules: [{ apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs }],
});

const leaseBinding = (name: string, subject: object) => ({
  apiVersion: `${rbac}/v1`,
  kind: "RoleBinding",
  metadata: metadata(name),
  roleRef: { apiGroup: rbac, kind: "Role", name },
  subjects: [subject],
});

/** The rights upstream's deployments give, and no others. */
export const accessObjects: readonly object[] = [
  { apiVersion: "v1", kind: "ServiceAccount", metadata: metadata(AGENT_ACCOUNT) },
  {
    apiVersion: `${rbac}/v1`,
    kind: "ClusterRoleBinding",
    metadata: { name: SERVER_USER },
    roleRef: { apiGroup: rbac, kind: "ClusterRole", name: "system:auth-delegator" },
    subjects: [subjectOf.server],
  },
  leaseRole("server-leases", ["get", "create", "update", "list", "delete"]),
  leaseBinding("server-leases", subjectOf.server),
  leaseRole("agent-leases", ["get", "list", "watch"]),
  leaseBinding("agent-leases", subjectOf.agent),
];

export interface TokenRequest {
  readonly account?: string;
  /** Absent: a token for the kube-apiserver itself. */
  readonly audience?: string;
  /** The token is good only as long as this Secret is there. */
  readonly boundToSecret?: string;
}

/** Asks the real TokenRequest API, as the kubelet does for a projected volume. */
export async function requestToken(admin: Kubectl, request: TokenRequest): Promise<string> {
  const { account = AGENT_ACCOUNT, audience, boundToSecret } = request;
  const bound = ["--bound-object-kind", "Secret", "--bound-object-name", boundToSecret ?? ""];
  const token = await admin.run([
    ...["create", "token", account, "-n", AGENT_NAMESPACE, "--duration=1h"],
    ...(audience === undefined ? [] : ["--audience", audience]),
    ...(boundToSecret === undefined ? [] : bound),
  ]);
  return token.trim();
}

/** Without a final newline: agents send the file as it is. */
export function writeToken(path: string, token: string): string {
  writeFileSync(path, token, { mode: 0o600 });
  return path;
}
