/** Services, Routes and network policies by which callers and agents reach the servers, and APIs of the control plane. */
import { isIP } from "node:net";
import { tcpPort } from "../../kube/builders.js";
import { isOurs } from "../model/arguments.js";
import type { HostedModel } from "../model/model.js";
import { API_NAMESPACE, HOSTED_LABEL, hypershift, names, SLICE_OWNER } from "../model/names.js";
import { own, type RenderedObject } from "./manifest.js";

const apiServerPods = { app: names.apiServer };

/** A socket needs none. */
export function localService(model: HostedModel): RenderedObject[] {
  if (model.frontend === "uds") return [];
  // A lone kube-apiserver may need a webhook before it is ready; with Go's image it gets there by this Service.
  const isAlone = !isOurs(model) && model.replicas === 1;
  const spec = {
    ...{ type: "ClusterIP", selector: apiServerPods, ports: [port(model.ports.frontend)] },
    ...(isAlone && { publishNotReadyAddresses: true }),
  };
  return [own(model, "control-plane", "Service", { name: names.serverLocal }, { spec })];
}

export function agentService(model: HostedModel): RenderedObject {
  const { type, host, port: published } = model.publishing;
  const annotations =
    type === "LoadBalancer" && host !== undefined && isIP(host) === 0
      ? { annotations: { "external-dns.alpha.kubernetes.io/hostname": host } }
      : {};
  const component = model.signers === "shared" ? { [hypershift.component]: names.apiServer } : {};
  const spec = {
    type: type === "Route" ? "ClusterIP" : type,
    selector: { ...apiServerPods, ...component },
    ports: [{ ...port(model.ports.agent), ...(type === "NodePort" ? { nodePort: published } : {}) }],
    // Agents are there before the kube-apiserver needs them to become ready.
    publishNotReadyAddresses: true,
  };
  return own(model, "control-plane", "Service", { name: names.server, ...annotations }, { spec });
}

const port = (number: number) => ({ protocol: "TCP", port: number, targetPort: number });

/** The router reads only the server name of the TLS handshake and passes the connection through. */
export function agentRoute(model: HostedModel): RenderedObject {
  const { host, router } = model.publishing;
  const labels: Readonly<Record<string, string>> =
    router === "cluster"
      ? { [hypershift.hostedControlPlane]: model.namespace, [hypershift.internalRoute]: "true" }
      : {};
  // Agents look for every server behind this one name.
  const annotations = { "haproxy.router.openshift.io/balance": "roundrobin" };
  const spec = {
    ...(host === undefined ? {} : { host }),
    to: { kind: "Service", name: names.server, weight: 100 },
    port: { targetPort: model.ports.agent },
    tls: { termination: "passthrough", insecureEdgeTerminationPolicy: "None" },
    wildcardPolicy: "None",
  };
  return own(model, "control-plane", "Route", { name: names.server, labels, annotations }, { spec });
}

const POLICY_GROUP = "network.openshift.io/policy-group";
const namespacesOf = (group: string) => ({ namespaceSelector: { matchLabels: { [POLICY_GROUP]: group } } });

/**
 * Who may reach the kube-apiserver's pods, in which the servers are. A policy that selects a pod closes all its other
 * ports, so the kube-apiserver's own is opened as well; HyperShift's own policies only add to these.
 */
export function networkPolicies(model: HostedModel): RenderedObject[] {
  const callers = model.frontend === "uds" ? [] : [model.ports.frontend];
  return [
    // First, or agents from outside would be refused for a moment.
    policy(model, ...publishedRule(model)),
    policy(model, names.server, [
      // Only the control plane's own pods may use the tunnel.
      { from: [{ podSelector: {} }], ports: [...callers, model.ports.agent].map(tcpPort) },
      { ports: model.apiServerPorts },
      { from: [namespacesOf("monitoring")], ports: [tcpPort(model.ports.health)] },
    ]),
  ];
}

/** A node's port and a load balancer show the kube-apiserver's pods addresses from anywhere. */
function publishedRule(model: HostedModel): [name: string, rules: readonly object[]] {
  const { publishing } = model;
  const agents = [tcpPort(model.ports.agent)];
  if (publishing.type === "NodePort") return ["nodeport-konnectivity-kas", [{ ports: agents }]];
  if (publishing.type === "LoadBalancer") return ["loadbalancer-konnectivity-kas", [{ ports: agents }]];
  const from = publishing.router === "cluster" ? [{ podSelector: {} }] : [namespacesOf("ingress")];
  return ["route-konnectivity-kas", [{ from, ports: agents }]];
}

function policy(model: HostedModel, name: string, ingress: readonly object[]): RenderedObject {
  const spec = { podSelector: { matchLabels: apiServerPods }, policyTypes: ["Ingress"], ingress };
  return own(model, "control-plane", "NetworkPolicy", { name }, { spec });
}

const API_PORT = 443;

/**
 * How the hosted cluster finds APIs that its control plane serves: by an address that only the tunnel leads to. The Service
 * has no selector: no pod of this cluster is behind it.
 */
export function aggregatedApiObjects(model: HostedModel): RenderedObject[] {
  return model.aggregatedApis.flatMap(({ address, registration }) => {
    if (registration === undefined) return [];
    const { name, served, caBundle, ...priorities } = registration;
    const place = { name, namespace: API_NAMESPACE };
    const https = { name: "https", protocol: "TCP", port: API_PORT };
    const service = { ...place, port: API_PORT };
    const common = { ...priorities, caBundle: Buffer.from(caBundle).toString("base64"), service };
    return [
      own(model, "hosted", "Service", place, { spec: { ports: [{ ...https, targetPort: API_PORT }] } }),
      endpoints(model, place, address, https),
      ...served.map(({ group, version }) =>
        own(model, "hosted", "APIService", { name: `${version}.${group}` }, { spec: { group, version, ...common } }),
      ),
    ];
  });
}

function endpoints(model: HostedModel, place: { readonly name: string }, ip: string, port: object): RenderedObject {
  if (model.endpointKind === "Endpoints") {
    return own(model, "hosted", "Endpoints", place, { subsets: [{ addresses: [{ ip }], ports: [port] }] });
  }
  const labels = { "kubernetes.io/service-name": place.name, [SLICE_OWNER]: HOSTED_LABEL };
  const body = {
    addressType: `IPv${isIP(ip)}`,
    ports: [port],
    endpoints: [{ addresses: [ip], conditions: { ready: true } }],
  };
  return own(model, "hosted", "EndpointSlice", { ...place, labels }, body);
}
