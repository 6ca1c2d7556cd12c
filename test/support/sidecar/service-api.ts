/** As much of a Kubernetes API as it takes to look Services up, with a kubeconfig that leads to it. */
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface ServiceApi {
  readonly kubeconfig: string;
  /** `name.namespace` of every Service that was asked for. */
  readonly asked: string[];
  close(): Promise<void>;
}

/** `services` has the cluster IPs by `name.namespace`. */
export async function startServiceApi(
  file: string,
  services: Readonly<Record<string, readonly string[]>>,
): Promise<ServiceApi> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const [, namespace, name] = /^\/api\/v1\/namespaces\/([^/]+)\/services\/([^/?]+)$/.exec(request.url ?? "") ?? [];
    asked.push(`${name}.${namespace}`);
    const clusterIPs = services[`${name}.${namespace}`];
    response.writeHead(clusterIPs === undefined ? 404 : 200, { "content-type": "application/json" });
    response.end(
      JSON.stringify(
        clusterIPs === undefined
          ? { kind: "Status", code: 404, reason: "NotFound", message: "not found" }
          : { kind: "Service", metadata: { name, namespace }, spec: { clusterIP: clusterIPs[0], clusterIPs } },
      ),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const config = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "test",
    contexts: [{ name: "test", context: { cluster: "test", user: "test" } }],
    clusters: [{ name: "test", cluster: { server: `http://127.0.0.1:${port}` } }],
    users: [{ name: "test", user: {} }],
  };
  writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
  return {
    kubeconfig: file,
    asked,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
