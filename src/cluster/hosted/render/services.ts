/** How callers and agents find the servers. */
import { isIP } from "node:net";
import type { HostedModel } from "../model/model.js";
import { hypershift, names, ports } from "../model/names.js";
import { own, type RenderedObject } from "./manifest.js";

const apiServerPods = { app: names.apiServer };

export function localService(model: HostedModel): RenderedObject {
  return own(
    model,
    "control-plane",
    { apiVersion: "v1", kind: "Service", name: names.serverLocal },
    { spec: { type: "ClusterIP", selector: apiServerPods, ports: [port(ports.frontend)] } },
  );
}

export function agentService(model: HostedModel): RenderedObject {
  const { type, host, port: published } = model.publishing;
  const annotations =
    type === "LoadBalancer" && host !== undefined && isIP(host) === 0
      ? { annotations: { "external-dns.alpha.kubernetes.io/hostname": host } }
      : {};
  return own(
    model,
    "control-plane",
    { apiVersion: "v1", kind: "Service", name: names.server, ...annotations },
    {
      spec: {
        type: type === "Route" ? "ClusterIP" : type,
        selector: {
          ...apiServerPods,
          ...(model.signers === "shared" ? { [hypershift.component]: names.apiServer } : {}),
        },
        ports: [{ ...port(ports.agent), ...(type === "NodePort" ? { nodePort: published } : {}) }],
      },
    },
  );
}

const port = (number: number) => ({ protocol: "TCP", port: number, targetPort: number });

/** TLS goes through to the server: only its name is read on the way. */
export function agentRoute(model: HostedModel): RenderedObject {
  const { host, router } = model.publishing;
  const labels: Readonly<Record<string, string>> =
    router === "cluster"
      ? { [hypershift.hostedControlPlane]: model.namespace, [hypershift.internalRoute]: "true" }
      : {};
  return own(
    model,
    "control-plane",
    {
      apiVersion: "route.openshift.io/v1",
      kind: "Route",
      name: names.server,
      labels,
      // Agents look for every server behind this one name.
      annotations: { "haproxy.router.openshift.io/balance": "roundrobin" },
    },
    {
      spec: {
        ...(host === undefined ? {} : { host }),
        to: { kind: "Service", name: names.server, weight: 100 },
        port: { targetPort: ports.agent },
        tls: { termination: "passthrough", insecureEdgeTerminationPolicy: "None" },
        wildcardPolicy: "None",
      },
    },
  );
}
