import type { Pair } from "./certificates.js";
import type { ControlPlane, Entrance } from "./control-plane.js";
import { LabProcess } from "./process.js";
import type { Scope } from "./scope.js";

/** The controllers without which a pod gets no service account, no token and no root certificate. */
const CONTROLLERS = [
  "serviceaccount-controller",
  "root-ca-certificate-publisher-controller",
  "namespace-controller",
  "node-lifecycle-controller",
];

/** What turns workloads into pods and tidies up after them. */
export const WORKLOAD_CONTROLLERS: readonly string[] = [
  "daemonset-controller",
  "deployment-controller",
  "replicaset-controller",
  "endpointslice-controller",
  "endpointslice-mirroring-controller",
  "endpoints-controller",
  "garbage-collector-controller",
  "pod-garbage-collector-controller",
];

const SIGNER = "certificatesigningrequest-signing-controller";

export interface ManagerOptions {
  readonly executable: string;
  /** Beyond those that every pod needs. */
  readonly controllers?: readonly string[];
  /** Signs certificates that were approved, and approves none itself. */
  readonly signs?: boolean;
  /** Beside those that every lab needs. */
  readonly flags?: readonly string[];
  /** The kube-apiserver it talks to and stands beside, if not the control plane's first. */
  readonly entrance?: Entrance;
}

export async function startControllerManager(
  scope: Scope,
  plane: ControlPlane,
  { executable, controllers = [], signs = false, flags = [], entrance = plane }: ManagerOptions,
): Promise<void> {
  const manager = LabProcess.start(scope, {
    name: "kube-controller-manager",
    netns: entrance.admin.netns,
    command: [
      executable,
      ...managerFlags({
        ...{ controllers, signs, ca: plane.ca, signingKey: plane.serviceAccounts.privateKey },
        kubeconfig: plane.kubeconfig("system:kube-controller-manager", undefined, entrance.api),
      }),
      ...flags,
    ],
  });
  await manager.ready("service accounts are made", 120_000, async () => {
    const answer = await entrance.admin.try(["get", "serviceaccount/default", "configmap/kube-root-ca.crt"]);
    return answer.code === 0;
  });
}

export interface ManagerFiles extends Required<Pick<ManagerOptions, "controllers" | "signs">> {
  readonly kubeconfig: string;
  readonly ca: Pair;
  /** Of service accounts' tokens. */
  readonly signingKey: string;
}

export const managerFlags = ({ kubeconfig, controllers, signs, ca, signingKey }: ManagerFiles): string[] => [
  `--kubeconfig=${kubeconfig}`,
  `--controllers=${[...CONTROLLERS, ...(signs ? [SIGNER] : []), ...controllers].join(",")}`,
  ...(signs ? [`--cluster-signing-cert-file=${ca.cert}`, `--cluster-signing-key-file=${ca.key}`] : []),
  `--service-account-private-key-file=${signingKey}`,
  `--root-ca-file=${ca.cert}`,
  // Each controller under a service account of its own: that is what the built-in roles are bound to.
  "--use-service-account-credentials=true",
  "--leader-elect=false",
  "--bind-address=127.0.0.1",
];
