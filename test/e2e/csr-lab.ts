/** A real kube-apiserver with the real signer, and requests filed as kubelets file them. */
import { readFileSync, writeFileSync } from "node:fs";
import { createKubeApi } from "../../src/cluster/kube/client.js";
import { isConflict, isNotFound } from "../../src/cluster/kube/errors.js";
import type { KubeApi, KubeObject } from "../../src/cluster/kube/port.js";
import type { DecisionEntry } from "../../src/cluster/nodes/csr/decide.js";
import { defaultPolicy } from "../../src/cluster/nodes/csr/request-context.js";
import { REQUESTS_PATH, requestPath, type SigningRequest } from "../../src/cluster/nodes/csr/signing-request.js";
import type { Node } from "../../src/cluster/nodes/objects.js";
import { workerResource } from "../../src/cluster/nodes/workers/resource.js";
import type { Pair } from "../support/lab/certificates.js";
import type { ControlPlane } from "../support/lab/control-plane.js";
import { component } from "../support/lab/equipment.js";
import { LabProcess } from "../support/lab/process.js";
import { mustSync } from "../support/lab/run.js";
import type { Scope } from "../support/lab/scope.js";
import { until } from "../support/lab/wait.js";
import { APPROVER, clusterPermissions, NAMESPACE, namespacePermissions, role } from "./csr-roles.js";

/** May file requests and nothing else: strangers with some credential. */
export const FILERS = "lab:filers";

const rbac = "rbac.authorization.k8s.io";
const SOON = 60_000;

function binding(kind: "ClusterRoleBinding" | "RoleBinding", name: string, to: string, subject: object): KubeObject {
  return {
    apiVersion: `${rbac}/v1`,
    kind,
    metadata: { name, ...(kind === "RoleBinding" ? { namespace: NAMESPACE } : {}) },
    roleRef: { apiGroup: rbac, kind: kind === "RoleBinding" ? "Role" : "ClusterRole", name: to },
    subjects: [subject],
  } as KubeObject;
}

const [, , machines, account] = defaultPolicy.bootstrapUser.split(":") as [string, string, string, string];

export const accessObjects: readonly KubeObject[] = [
  workerResource,
  { apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE } },
  { apiVersion: "v1", kind: "Namespace", metadata: { name: machines } },
  { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: account, namespace: machines } },
  binding("ClusterRoleBinding", "create-csrs-for-bootstrapping", "system:node-bootstrapper", {
    kind: "ServiceAccount",
    name: account,
    namespace: machines,
  }),
  binding("ClusterRoleBinding", "lab-filers", "system:node-bootstrapper", {
    apiGroup: rbac,
    kind: "Group",
    name: FILERS,
  }),
  role("ClusterRole", clusterPermissions),
  role("Role", namespacePermissions),
  binding("ClusterRoleBinding", APPROVER, APPROVER, { apiGroup: rbac, kind: "User", name: APPROVER }),
  binding("RoleBinding", APPROVER, APPROVER, { apiGroup: rbac, kind: "User", name: APPROVER }),
];

/** Signs what is approved, and approves nothing itself. */
export async function startSigner(scope: Scope, plane: ControlPlane, flags: readonly string[] = []): Promise<void> {
  const manager = LabProcess.start(scope, {
    name: "signer",
    command: [
      component("kube-controller-manager"),
      `--kubeconfig=${plane.adminConfig}`,
      "--controllers=certificatesigningrequest-signing-controller",
      `--cluster-signing-cert-file=${plane.ca.cert}`,
      `--cluster-signing-key-file=${plane.ca.key}`,
      "--leader-elect=false",
      // Nobody asks it anything, and another lab on this machine may have its usual port.
      "--secure-port=0",
      ...flags,
    ],
  });
  await manager.ready("it signs", 60_000, () => manager.log().includes("Caches are synced"));
}

export class Lab {
  readonly scope: Scope;
  readonly plane: ControlPlane;
  readonly admin: KubeApi;
  readonly #keyFile: string;
  #made = 0;

  constructor(scope: Scope, plane: ControlPlane) {
    this.scope = scope;
    this.plane = plane;
    const clientPair = { cert: scope.file("admin.crt"), key: scope.file("admin.key") };
    this.admin = this.as({ pair: clientPair });
    this.#keyFile = scope.file("kubelet.key");
    mustSync(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", this.#keyFile]);
  }

  /** The API as seen by the holder of a certificate or token, or by somebody an administrator plays. */
  as(who: { pair?: Pair; token?: string; user?: string; group?: string }): KubeApi {
    const { pair, token, user, group } = who;
    const ca = readFileSync(this.plane.ca.cert, "utf8");
    const files =
      pair ??
      (user === undefined ? undefined : { cert: this.scope.file("admin.crt"), key: this.scope.file("admin.key") });
    const tls = files && { cert: readFileSync(files.cert, "utf8"), key: readFileSync(files.key, "utf8") };
    const headers = {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(user === undefined ? {} : { "impersonate-user": user }),
      ...(group === undefined ? {} : { "impersonate-group": group }),
    };
    const api = createKubeApi(
      { server: this.plane.api.url, credentials: async () => ({ headers, tls: { ca, ...tls } }) },
      { qps: -1 },
    );
    this.scope.defer(() => api.close());
    return api;
  }

  asNode(name: string): KubeApi {
    return this.as({ user: `system:node:${name}`, group: "system:nodes" });
  }

  /** With the credential that every machine finds in its configuration. */
  async asBootstrapper(): Promise<KubeApi> {
    const path = `/api/v1/namespaces/${machines}/serviceaccounts/${account}/token`;
    const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
    const { status } = (await this.admin.create(path, request)) as { status?: { token: string } };
    return this.as({ token: status?.token ?? "" });
  }

  /** PEM, made with openssl so that nothing under test vouches for itself. */
  request(subject: string, names = "", options: { keyFile?: string; extension?: string } = {}): string {
    const out = this.scope.file(`request-${++this.#made}.pem`);
    mustSync([
      ...["openssl", "req", "-new", "-key", options.keyFile ?? this.#keyFile, "-subj", subject, "-out", out],
      ...(names === "" ? [] : ["-addext", `subjectAltName=${names}`]),
      ...(options.extension === undefined ? [] : ["-addext", options.extension]),
    ]);
    return readFileSync(out, "utf8");
  }

  weakKey(): string {
    const file = this.scope.file("weak.key");
    mustSync(["openssl", "genrsa", "-out", file, "1024"]);
    return file;
  }

  get keyFile(): string {
    return this.#keyFile;
  }

  async find(name: string): Promise<SigningRequest> {
    return this.admin.get<SigningRequest>(requestPath(name));
  }

  async issued(name: string): Promise<string> {
    const certificate = await until(
      `the certificate of ${name}`,
      SOON,
      async () => (await this.find(name)).status?.certificate,
    );
    return Buffer.from(certificate, "base64").toString();
  }

  async putNode(name: string, ...ips: readonly string[]): Promise<void> {
    await this.admin.create<KubeObject>("/api/v1/nodes", { apiVersion: "v1", kind: "Node", metadata: { name } });
    await this.report(name, ...ips);
  }

  /** As the node's kubelet would. */
  async report(name: string, ...ips: readonly string[]): Promise<void> {
    const addresses = [{ type: "Hostname", address: name }, ...ips.map((address) => ({ type: "InternalIP", address }))];
    await this.#change(name, "/status", (node) => ({ ...node, status: { ...node.status, addresses } }));
  }

  async label(name: string, label: string): Promise<void> {
    await this.#change(name, "", (node) => {
      const labels = { ...node.metadata?.labels, [label]: "" };
      return { ...node, metadata: { ...node.metadata, labels } };
    });
  }

  /** Controllers of the cluster write Nodes at the same time: they put taints and conditions on them. */
  async #change(name: string, part: "" | "/status", make: (node: Node) => Node): Promise<void> {
    const path = `/api/v1/nodes/${name}`;
    await until(`${name} to be written`, SOON, async () => {
      try {
        await this.admin.update(`${path}${part}`, make(await this.admin.get<Node>(path)));
        return true;
      } catch (reason) {
        if (isConflict(reason)) return false;
        throw reason;
      }
    });
  }

  async remove(path: string): Promise<void> {
    try {
      await this.admin.delete(path);
    } catch (reason) {
      if (!isNotFound(reason)) throw reason;
    }
  }
}

export interface Filing {
  readonly name: string;
  readonly pem: string;
  readonly signerName: string;
  readonly usages: readonly string[];
}

export async function file(api: KubeApi, { name, pem, ...spec }: Filing): Promise<void> {
  await api.create(REQUESTS_PATH, {
    apiVersion: "certificates.k8s.io/v1",
    kind: "CertificateSigningRequest",
    metadata: { name },
    spec: { request: Buffer.from(pem).toString("base64"), ...spec },
  } as KubeObject);
}

/** The decisions of a log so far. */
export function decisionsIn(path: string): DecisionEntry[] {
  const lines = readFileSync(path, "utf8").split("\n").filter(Boolean);
  return lines.map((line) => JSON.parse(line) as DecisionEntry);
}

export function writeInventory(path: string, documents: readonly object[]): void {
  writeFileSync(path, documents.map((document) => JSON.stringify(document)).join("\n---\n"));
}
