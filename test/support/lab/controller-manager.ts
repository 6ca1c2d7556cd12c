import type { ControlPlane } from "./control-plane.js";
import { LabProcess } from "./process.js";
import type { Scope } from "./scope.js";

/** The controllers without which a pod gets no service account, no token and no root certificate. */
const CONTROLLERS = [
  "serviceaccount-controller",
  "root-ca-certificate-publisher-controller",
  "namespace-controller",
  "node-lifecycle-controller",
];

export async function startControllerManager(scope: Scope, plane: ControlPlane, executable: string): Promise<void> {
  const manager = LabProcess.start(scope, {
    name: "kube-controller-manager",
    netns: plane.admin.netns,
    command: [
      executable,
      `--kubeconfig=${plane.kubeconfig("system:kube-controller-manager")}`,
      `--controllers=${CONTROLLERS.join(",")}`,
      `--service-account-private-key-file=${plane.serviceAccounts.privateKey}`,
      `--root-ca-file=${plane.ca.cert}`,
      // Each controller under a service account of its own: that is what the built-in roles are bound to.
      "--use-service-account-credentials=true",
      "--leader-elect=false",
      "--bind-address=127.0.0.1",
    ],
  });
  await manager.ready("service accounts are made", 60_000, async () => {
    const answer = await plane.admin.try(["get", "serviceaccount/default", "configmap/kube-root-ca.crt"]);
    return answer.code === 0;
  });
}
