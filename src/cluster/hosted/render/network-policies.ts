/**
 * Who may reach the kube-apiserver's pods, in which the servers are. A policy that selects a pod closes all its other
 * ports, so the kube-apiserver's own is opened as well; HyperShift's own policies only add to these.
 */
import type { HostedModel } from "../model/model.js";
import { names, ports } from "../model/names.js";
import { own, type RenderedObject } from "./manifest.js";

const POLICY_GROUP = "network.openshift.io/policy-group";
const tcp = (port: number) => ({ protocol: "TCP", port });
const namespacesOf = (group: string) => ({ namespaceSelector: { matchLabels: { [POLICY_GROUP]: group } } });

export function networkPolicies(model: HostedModel): RenderedObject[] {
  return [
    policy(model, names.server, [
      // Only the control plane's own pods may use the tunnel.
      { from: [{ podSelector: {} }], ports: [tcp(ports.frontend), tcp(ports.agent)] },
      { ports: [tcp(model.apiServerPort)] },
      { from: [namespacesOf("monitoring")], ports: [tcp(ports.health)] },
    ]),
    policy(model, ...publishedRule(model)),
  ];
}

/** A node's port and a load balancer show the kube-apiserver's pods addresses from anywhere. */
function publishedRule({ publishing }: HostedModel): [name: string, rules: readonly object[]] {
  const agents = [tcp(ports.agent)];
  if (publishing.type === "NodePort") return ["nodeport-konnectivity-kas", [{ ports: agents }]];
  if (publishing.type === "LoadBalancer") return ["loadbalancer-konnectivity-kas", [{ ports: agents }]];
  const from = publishing.router === "cluster" ? [{ podSelector: {} }] : [namespacesOf("ingress")];
  return ["route-konnectivity-kas", [{ from, ports: agents }]];
}

function policy(model: HostedModel, name: string, ingress: readonly object[]): RenderedObject {
  const head = { apiVersion: "networking.k8s.io/v1", kind: "NetworkPolicy", name };
  const podSelector = { matchLabels: { app: names.apiServer } };
  return own(model, "control-plane", head, { spec: { podSelector, policyTypes: ["Ingress"], ingress } });
}
