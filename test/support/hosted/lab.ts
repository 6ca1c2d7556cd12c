import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Finding } from "../../../src/base/finding.js";
import type { hostedJson } from "../../../src/insight/diagnosis/hosted.js";
import { type BridgeLab, startBridgeLab } from "../lab/bridge/lab.js";
import type { WebhookPod } from "../lab/bridge/webhook-pod.js";
import { get } from "../lab/http.js";
import type { LabProcess } from "../lab/process.js";
import type { Outcome } from "../lab/run.js";
import { until } from "../lab/wait.js";
import { startBalancers } from "./balancers.js";
import { Component } from "./component.js";
import { writeEgress } from "./egress.js";

const DRAWBRIDGE = fileURLToPath(new URL("../../../dist/bin/drawbridge", import.meta.url));

export const NAMESPACE = "clusters-demo";
/** An API that the control plane serves itself: by its Service in the management cluster, and in the hosted one. */
export const PLANE_API = {
  name: "plane-api",
  address: "10.96.66.10",
  group: "plane.lab.drawbridge.test",
  version: "v1alpha1",
} as const;

export interface Asked extends Omit<ReturnType<typeof hostedJson>, "findings"> {
  readonly code: number;
  readonly findings: readonly Finding[];
  /** By check, or `check:subject`. */
  readonly byId: Readonly<Record<string, Finding>>;
}

/** Where an agent of either side says what it does. */
export interface AgentPod {
  readonly name: string;
  metrics(): Promise<string>;
}

/**
 * docs/hosted.md in the lab. One cluster plays both: the control plane is its namespace clusters-demo, the hosted
 * cluster is all the rest; the names allow it. HAProxy is the load balancer.
 */
export class HostedLab {
  readonly lab: BridgeLab;
  readonly config: string;
  #balancers: readonly LabProcess[] = [];

  private constructor(lab: BridgeLab, config: string) {
    this.lab = lab;
    this.config = config;
  }

  /** Two real nodes, a stand-in for the control plane's kube-apiserver Deployment, and a description of what to make. */
  static async start(): Promise<HostedLab> {
    const lab = await startBridgeLab({ nodes: 2, services: true });
    const { name, address, group, version } = PLANE_API;
    const api = { name, address, apiServices: [`${version}.${group}`], caFile: lab.plane.ca.cert };
    const config = lab.scope.file("hosted.json");
    const description = {
      name: "demo",
      replicas: 3,
      publishing: { type: "LoadBalancer", address: lab.nodes[0]!.address },
      image: { server: lab.image, agent: lab.image, sidecar: lab.image },
      aggregatedApis: [api],
    };
    writeFileSync(config, JSON.stringify(description));
    await lab.kubectl("create", "namespace", NAMESPACE);
    // As people make theirs, who then own all its fields.
    await lab.bs.admin.run(["apply", "-f", "-"], JSON.stringify(apiServerStandIn(lab.image)));
    return new HostedLab(lab, config);
  }

  stop(): Promise<void> {
    return this.lab.stop();
  }

  /** `drawbridge hosted ...`, as an administrator of the management cluster. */
  run(name: string, ...flags: readonly string[]): Promise<Outcome> {
    const { bs } = this.lab;
    const command = [DRAWBRIDGE, "hosted", name, `--config=${this.config}`, `--kubeconfig=${bs.adminConfig}`, ...flags];
    return bs.run(command, { timeoutMs: 120_000 });
  }

  /** The flag that makes it work on the hosted cluster, too. */
  get both(): string {
    return `--hosted-kubeconfig=${this.lab.bs.adminConfig}`;
  }

  async verdict(name: "verify" | "status"): Promise<Asked> {
    const { code, stdout, stderr } = await this.run(name, this.both, "--output=json");
    if (stderr !== "") throw new Error(`hosted ${name} complained: ${stderr}`);
    const report = JSON.parse(stdout) as Omit<Asked, "byId" | "code">;
    const idOf = ({ check, subject }: Finding) => (subject === undefined ? check : `${check}:${subject}`);
    return { code, ...report, byId: Object.fromEntries(report.findings.map((each) => [idOf(each), each])) };
  }

  /** The control plane's API as a pod there, behind a Service with the address that the description has. */
  servePlaneApi(): Promise<WebhookPod> {
    const { name, address } = PLANE_API;
    const place = { name, namespace: NAMESPACE, dns: `${name}.default.svc`, clusterIP: address };
    return this.lab.startWebhook(this.lab.nodes[1], place);
  }

  /** Puts balancers in front of so many servers' pods, as soon as these have addresses. */
  async openTunnel(servers: number): Promise<void> {
    const pods = await until(`${servers} servers to have addresses`, 90_000, async () => {
      const found = await this.#pods(NAMESPACE, "app=kube-apiserver");
      return found.length === servers && found.every(({ ip }) => ip !== "") && found;
    });
    this.#balancers = startBalancers(
      this.lab,
      pods.map(({ ip }) => ip),
    );
  }

  async cutTunnel(): Promise<void> {
    await Promise.all(this.#balancers.map((balancer) => balancer.kill()));
  }

  /** Starts the kube-apiserver again, with the egress selector that `hosted render` writes. */
  async useTunnel(): Promise<void> {
    const { code, stderr } = await this.run("render", `--out=${this.#rendered}`);
    if (code !== 0) throw new Error(`hosted render ended with ${code}: ${stderr}`);
    await this.lab.bs.apiServer.start(writeEgress(this.lab, this.#rendered));
  }

  /** With the sidecars that HyperShift gives it; to be called once the tunnel is in use. */
  startComponent(name: string): Promise<Component> {
    return Component.start(this.lab, NAMESPACE, name, this.#rendered);
  }

  get #rendered(): string {
    return this.lab.scope.file("rendered");
  }

  /** In the hosted cluster they live in their nodes' network, in the control plane in the pods'. */
  async agents(side: "hosted" | "control-plane"): Promise<AgentPod[]> {
    const pods = await this.#pods(side === "hosted" ? "kube-system" : NAMESPACE, "app=konnectivity-agent");
    return pods.map(({ name, ip, node }) => {
      const netns = this.lab.nodes.find((each) => each.name === node)!.netns;
      const host = side === "hosted" ? "127.0.0.1" : ip;
      return { name, metrics: async () => (await get(`http://${host}:2041/metrics`, netns)).body };
    });
  }

  async #pods(namespace: string, selector: string): Promise<{ name: string; ip: string; node: string }[]> {
    const { items } = await this.lab.bs.admin.json<{
      items: { metadata: { name: string }; spec: { nodeName: string }; status: { podIP?: string } }[];
    }>(["get", "pods", "-n", namespace, "-l", selector]);
    return items.map(({ metadata, spec, status }) => ({
      name: metadata.name,
      ip: status.podIP ?? "",
      node: spec.nodeName,
    }));
  }
}

/** In the place of a control plane's own Deployment: what counts is what the patch makes of it. */
function apiServerStandIn(image: string): object {
  const labels = { app: "kube-apiserver" };
  const container = { name: "kube-apiserver", image, command: ["/usr/bin/node", "-e", "setInterval(() => {}, 1e9)"] };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "kube-apiserver", namespace: NAMESPACE },
    spec: {
      // Until it is patched: the lab has no time for pods that are replaced at once.
      replicas: 0,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [container] } },
    },
  };
}
