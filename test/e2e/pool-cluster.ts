/**
 * A cluster on loopback in which pools can be declared: real etcd, kube-apiserver and signer, and in it what `nodepool install`
 * makes and the identity with which machines ask for their first certificate. It needs no root.
 */
import { readFileSync } from "node:fs";
import { type ControlPlane, makeControlPlane } from "../support/lab/control-plane.js";
import { controlPlaneExecutables } from "../support/lab/equipment.js";
import { must } from "../support/lab/run.js";
import type { Scope } from "../support/lab/scope.js";
import { ours } from "../support/processes/executables.js";
import { startSigner } from "./csr-lab.js";
import { bootstrapAccess, bootstrapper, NAMESPACE } from "./nodes-objects.js";

export class PoolCluster {
  readonly plane: ControlPlane;
  /** The machines' common token. */
  readonly token: string;

  private constructor(plane: ControlPlane, token: string) {
    this.plane = plane;
    this.token = token;
  }

  static async start(scope: Scope, signerFlags: readonly string[] = []): Promise<PoolCluster> {
    const plane = await makeControlPlane(scope, { executables: controlPlaneExecutables() });
    await plane.apiServer.start();
    const components = "--components=controller,approver,ignition";
    const install = ["nodepool", "install", "--image=registry.example/drawbridge:1", components];
    await Promise.all([
      startSigner(scope, plane, signerFlags),
      must([ours("drawbridge"), ...install, `--kubeconfig=${plane.adminConfig}`]),
      plane.admin.apply(...bootstrapAccess),
    ]);
    const { name, namespace } = bootstrapper;
    const token = await plane.admin.run(["create", "token", name, "-n", namespace, "--duration=1h"]);
    return new PoolCluster(plane, token.trim());
  }

  get ca(): string {
    return readFileSync(this.plane.ca.cert, "utf8");
  }

  /** How a part of drawbridge gets in, with the rights that its account was given and no others; without one, an administrator. */
  flags(account?: string): string[] {
    const { adminConfig } = this.plane;
    const kubeconfig =
      account === undefined ? adminConfig : this.plane.kubeconfig(`system:serviceaccount:${NAMESPACE}:${account}`);
    return [`--kubeconfig=${kubeconfig}`, `--namespace=${NAMESPACE}`];
  }
}
