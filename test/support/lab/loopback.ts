import { type ControlPlane, type ControlPlaneOptions, makeControlPlane } from "./control-plane.js";
import { controlPlaneExecutables } from "./equipment.js";
import type { Scope } from "./scope.js";

/**
 * etcd and a real, running kube-apiserver on loopback: no root, no namespaces. With an egress configuration
 * (frontends.ts) its cluster traffic goes through a proxy-server. Call `equipped({ controlPlane: true })` before.
 */
export async function startOnLoopback(
  scope: Scope,
  egressConfigFile?: string,
  options: Pick<ControlPlaneOptions, "admissionPlugins" | "issuerEnv"> = {},
): Promise<ControlPlane> {
  const plane = await makeControlPlane(scope, { executables: controlPlaneExecutables(), ...options });
  await plane.apiServer.start(egressConfigFile);
  return plane;
}
