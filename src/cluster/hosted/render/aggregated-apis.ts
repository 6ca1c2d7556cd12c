/** How the hosted cluster finds APIs that its control plane serves: by an address that only the tunnel leads to. */
import type { AggregatedApi, Registration } from "../config/config.js";
import type { HostedModel } from "../model/model.js";
import { API_NAMESPACE } from "../model/names.js";
import { own, type RenderedObject } from "./manifest.js";

const API_PORT = 443;

export function aggregatedApiObjects(model: HostedModel): RenderedObject[] {
  return model.aggregatedApis.flatMap(({ address, registration }: AggregatedApi) =>
    registration === undefined
      ? []
      : [...serviceAt(model, registration.name, address), ...apiServices(model, registration)],
  );
}

/** Without a selector: no pod of this cluster is behind it. */
function serviceAt(model: HostedModel, name: string, address: string): RenderedObject[] {
  const place = { apiVersion: "v1", name, namespace: API_NAMESPACE };
  const https = { name: "https", protocol: "TCP", port: API_PORT };
  return [
    own(model, "hosted", { ...place, kind: "Service" }, { spec: { ports: [{ ...https, targetPort: API_PORT }] } }),
    // The cluster makes EndpointSlices of it, which is what newer kube-apiservers read.
    own(model, "hosted", { ...place, kind: "Endpoints" }, { subsets: [{ addresses: [{ ip: address }], ports: [https] }] }),
  ];
}

function apiServices(model: HostedModel, { name, served, caBundle, ...priorities }: Registration): RenderedObject[] {
  const { groupPriorityMinimum, versionPriority } = priorities;
  return served.map(({ group, version }) =>
    own(
      model,
      "hosted",
      {
        apiVersion: "apiregistration.k8s.io/v1",
        kind: "APIService",
        name: `${version}.${group}`,
        isClusterWide: true,
      },
      {
        spec: {
          group,
          version,
          groupPriorityMinimum,
          versionPriority,
          caBundle: Buffer.from(caBundle).toString("base64"),
          service: { name, namespace: API_NAMESPACE, port: API_PORT },
        },
      },
    ),
  );
}
