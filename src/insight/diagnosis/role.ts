/** Where are we? */
import { existsSync } from "node:fs";
import { bridgeOnThisHost } from "../../cluster/bootstrap/gather/presence.js";
import type { Topology } from "../../cluster/bootstrap/model/names.js";
import type { DoctorHost } from "./context.js";
import type { Role } from "./diagnosis.js";
import { programs } from "./program.js";

const bootstrapHost = ["/usr/local/bin/bootkube.sh", "/opt/openshift"];
const controlPlane = ["/etc/kubernetes/manifests/kube-apiserver.yaml", "/etc/kubernetes/pki/apiserver.crt"];

export async function detectRole(host: Pick<DoctorHost, "running">, env: NodeJS.ProcessEnv): Promise<Role> {
  if ((await host.running("agent")) !== undefined) return "agent";
  if (bootstrapHost.some(existsSync)) return "bootstrap";
  for (const program of programs) if ((await host.running(program)) !== undefined) return program;
  if (bridgeOnThisHost()) return "server";
  // A pod that is nothing else is where an agent is, or will be.
  if (env.KUBERNETES_SERVICE_HOST) return "agent";
  return controlPlane.some(existsSync) ? "server" : "workstation";
}

export function detectTopology(): Topology {
  if (bootstrapHost.some(existsSync)) return "openshift";
  return controlPlane.some(existsSync) ? "kubeadm" : "bare";
}
