import { readFileSync } from "node:fs";
import { underTest } from "../equipment.js";
import { grpcOverUds, writeEgressConfig } from "../frontends.js";
import { metric } from "../metrics.js";
import { ProxyServer, SERVER_METRIC } from "../proxy-server.js";
import { makeTunnelCertificates, type TunnelCertificates } from "../tunnel-certificates.js";
import type { BridgeLab } from "./lab.js";

/** Name and namespace of everything agents need. */
export const AGENTS = "bridge-agents";
const PORTS = { frontend: 8090, agents: 8091, health: 8092, admin: 8095 };

/** What `drawbridge bootstrap up` does, done by hand: a server beside the kube-apiserver, agents as a DaemonSet. */
export class BridgeByHand {
  readonly server: ProxyServer;

  private constructor(server: ProxyServer) {
    this.server = server;
  }

  static async raise(lab: BridgeLab): Promise<BridgeByHand> {
    const { scope, bs } = lab;
    const certificates = makeTunnelCertificates(scope, bs.address);
    const server = new ProxyServer(scope, {
      name: "proxy-server",
      executable: underTest("proxy-server"),
      netns: bs.netns,
      host: bs.address,
      ports: PORTS,
      certificates,
      flags: [`--cluster-ca-cert=${certificates.ca.cert}`],
    });
    await server.start(grpcOverUds);
    await bs.apiServer.start(writeEgressConfig(scope.file("egress.json"), grpcOverUds, server.frontend));
    await lab.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: AGENTS } });
    await lab.apply(secretOf(certificates), daemonSet(bs.address, lab.image));
    return new BridgeByHand(server);
  }

  async readyBackends(): Promise<number> {
    return metric(await this.server.metrics(), `${SERVER_METRIC}_ready_backend_connections`);
  }

  /** Dials that came to an end, well or not. */
  async dialsDone(): Promise<number> {
    return metric(await this.server.metrics(), `${SERVER_METRIC}_dial_duration_seconds_count`);
  }
}

const metadata = { name: AGENTS, namespace: AGENTS };
const text = (path: string): string => readFileSync(path, "utf8");

const secretOf = ({ ca, agent }: TunnelCertificates) => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata,
  stringData: { "ca.crt": text(ca.cert), "tls.crt": text(agent.cert), "tls.key": text(agent.key) },
});

function daemonSet(server: string, image: string): object {
  return {
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    metadata,
    spec: {
      selector: { matchLabels: { app: AGENTS } },
      template: {
        metadata: { labels: { app: AGENTS } },
        spec: {
          automountServiceAccountToken: false,
          terminationGracePeriodSeconds: 1,
          securityContext: { runAsNonRoot: true },
          containers: [
            {
              name: "agent",
              image,
              imagePullPolicy: "Never",
              command: ["/proxy-agent"],
              args: [
                `--proxy-server-host=${server}`,
                `--proxy-server-port=${PORTS.agents}`,
                "--ca-cert=/tls/ca.crt",
                "--agent-cert=/tls/tls.crt",
                "--agent-key=/tls/tls.key",
                "--agent-id=$(NODE_NAME)",
              ],
              env: [{ name: "NODE_NAME", valueFrom: { fieldRef: { fieldPath: "spec.nodeName" } } }],
              readinessProbe: { httpGet: { path: "/readyz", port: 8093 }, periodSeconds: 1 },
              volumeMounts: [{ name: "tls", mountPath: "/tls", readOnly: true }],
            },
          ],
          volumes: [{ name: "tls", secret: { secretName: AGENTS } }],
        },
      },
    },
  };
}
