import { writeFileSync } from "node:fs";
import { hostedEgressFlag } from "../../../src/cluster/hosted/model/arguments.js";
import { Component } from "../hosted/component.js";
import { type BridgeLab, startBridgeLab } from "../lab/bridge/lab.js";
import { component, nodeExecutables } from "../lab/equipment.js";
import { drawbridge } from "../lab/hosted-pki.js";
import type { Kubectl } from "../lab/kubectl.js";
import { type LabNode, startNode } from "../lab/node/node.js";
import type { Outcome } from "../lab/run.js";
import { startServices } from "../lab/services/services.js";
import { until } from "../lab/wait.js";
import { buildControlPlaneImage } from "./image.js";
import { apiServer, controlPlane, type Design, NAMESPACE } from "./objects.js";
import { API_NAME, API_PORT, HostedPlane } from "./plane.js";
import { PODS, ROUTER, Workers } from "./workers.js";
import { startWorkloads, workloadsReady } from "./workloads.js";

/** On the management cluster's nodes. */
const PORTS = { api: 30_443, agents: 30_091 };

/** An API that the control plane serves itself: its Service in the management cluster, and what the hosted one calls it. */
export const PLANE_API = {
  name: "plane-api",
  address: "10.96.66.10",
  group: "plane.lab.drawbridge.test",
  version: "v1alpha1",
} as const;

/** The part of the control plane whose pods have both sidecars. */
export const COMPONENT = "oauth-openshift";

export interface HostedClusterOptions {
  /** Of the kube-apiserver, once it uses the tunnel. */
  readonly replicas?: number;
  readonly workers?: number;
  /** Who wants to know how far it is. */
  readonly tell?: (words: string) => void;
}

interface Parts {
  readonly lab: BridgeLab;
  readonly plane: HostedPlane;
  readonly network: Workers;
  readonly workers: readonly LabNode[];
}

/**
 * A hosted cluster whose control plane runs as pods of another one, and whose nodes are in a network of their own:
 *
 *   bs      192.168.66.10        the management cluster's kube-apiserver and controllers; administrators of both clusters
 *   n1      192.168.66.11        its node: etcd, kube-apiserver, controller-manager and scheduler of the hosted cluster are pods here
 *   w1, w2  192.168.77.11, .12   the hosted cluster's nodes, behind a router that lets nobody in
 */
export class HostedCluster {
  readonly lab: BridgeLab;
  readonly plane: HostedPlane;
  /** w1, w2, ... */
  readonly workers: readonly LabNode[];
  readonly #network: Workers;
  readonly #config: string;
  readonly #replicas: number;
  #design: Design;

  private constructor({ lab, plane, network, workers }: Parts, design: Design, replicas: number) {
    this.lab = lab;
    this.plane = plane;
    this.workers = workers;
    this.#network = network;
    this.#design = design;
    this.#replicas = replicas;
    this.#config = lab.scope.file("hosted.json");
    this.describe();
  }

  /** One kube-apiserver runs, all workers have joined and know what to run; nothing of drawbridge is there. */
  static async start(options: HostedClusterOptions = {}): Promise<HostedCluster> {
    const { replicas = 1, workers = 1, tell = () => {} } = options;
    const lab = await startBridgeLab({ nodes: 1, services: true });
    tell("the management cluster runs");
    try {
      const { scope, bs, nodes } = lab;
      const image = buildControlPlaneImage(scope.file("control-plane.tar"));
      await nodes[0]!.importImage(image.path);
      const plane = new HostedPlane({
        ...{ folder: scope.file("hosted"), kubectl: component("kubectl"), netns: bs.netns },
        ...{ address: nodes[0]!.address, port: PORTS.api },
      });
      const design = { image: image.name, replicas: 1, nodePort: PORTS.api, flags: [] };
      const { storage, api, controllers } = controlPlane(plane, design);
      await applyPlainly(bs.admin, ...storage);
      await bs.admin.rolledOut("-n", NAMESPACE, "deployment/etcd");
      await applyPlainly(bs.admin, api);
      const isThere = async (what: string) => (await plane.admin.try(["get", what])).code === 0;
      await until("the hosted kube-apiserver to answer", 120_000, () => isThere("--raw=/readyz"));
      tell("the hosted kube-apiserver answers");
      await applyPlainly(bs.admin, ...controllers);
      const network = await Workers.make(lab.hosts);
      const [joined] = await Promise.all([
        startWorkers(lab, plane, network, workers),
        until("the hosted cluster's controllers to work", 120_000, () => isThere("serviceaccount/default")),
      ]);
      tell(`${joined.map(({ name }) => name).join(", ")} joined the hosted cluster`);
      // Before its only kube-apiserver is replaced.
      await startWorkloads(plane, lab.image);
      return new HostedCluster({ lab, plane, network, workers: joined }, design, replicas);
    } catch (error) {
      await lab.stop();
      throw error;
    }
  }

  stop(): Promise<void> {
    return this.lab.stop();
  }

  /** The node of the management cluster, where the hosted control plane's pods are. */
  get node(): LabNode {
    return this.lab.nodes[0]!;
  }

  /** Writes the description of what to make; `changes` are fields of it. */
  describe(changes: object = {}): void {
    const { image, plane } = this.lab;
    const { name, address, group, version } = PLANE_API;
    const description = {
      name: "demo",
      replicas: this.#replicas,
      publishing: { type: "NodePort", address: this.node.address, port: PORTS.agents },
      image: { server: image, agent: image, sidecar: image },
      aggregatedApis: [{ name, address, apiServices: [`${version}.${group}`], caFile: plane.ca.cert }],
      // Pods of the lab's hosted cluster do not know the kube-apiserver's address.
      connectionChecker: false,
      ...changes,
    };
    writeFileSync(this.#config, JSON.stringify(description));
  }

  /** `drawbridge hosted ...`, as an administrator of the management cluster, and of the hosted one if `both`. */
  run(name: string, ...flags: readonly string[]): Promise<Outcome> {
    const { bs } = this.lab;
    const command = [drawbridge, "hosted", name, `--config=${this.#config}`, `--kubeconfig=${bs.adminConfig}`];
    return bs.run([...command, ...flags], { timeoutMs: 120_000 });
  }

  /** The same where nothing may go wrong. */
  async mustRun(name: string, ...flags: readonly string[]): Promise<void> {
    const { code, stderr } = await this.run(name, ...flags);
    if (code !== 0) throw new Error(`hosted ${name} ${flags.join(" ")} ended with ${code}: ${stderr}`);
  }

  get both(): string {
    return `--hosted-kubeconfig=${this.plane.adminConfig}`;
  }

  /** docs/hosted.md's steps 2 and 3, whose patch and flag are one roll-out here; then all replicas. */
  async useTunnel(): Promise<Outcome> {
    const outcome = await this.inOneRollOut(async () => {
      const applied = await this.run("apply", "--patch-kube-apiserver", this.both);
      await this.roll({ flags: [hostedEgressFlag] });
      return applied;
    });
    await this.roll({ replicas: this.#replicas });
    await this.rolledOut();
    await this.agentsRolledOut();
    return outcome;
  }

  /** What is changed in the kube-apiserver's Deployment meanwhile is rolled out at once. */
  async inOneRollOut<T>(change: () => Promise<T>): Promise<T> {
    const deployment = ["-n", NAMESPACE, `deployment/${API_NAME}`];
    await this.lab.kubectl("rollout", "pause", ...deployment);
    const result = await change();
    await this.lab.kubectl("rollout", "resume", ...deployment);
    await this.rolledOut();
    return result;
  }

  /** The kube-apiserver's owner applies it again, with what is different from now on. */
  async roll(changes: Partial<Design>): Promise<void> {
    this.#design = { ...this.#design, ...changes };
    await applyPlainly(this.lab.bs.admin, apiServer(this.plane, this.#design));
  }

  async rolledOut(deployment: string = API_NAME): Promise<void> {
    await this.lab.bs.admin.rolledOut("-n", NAMESPACE, `deployment/${deployment}`);
  }

  /** Both kinds. */
  async agentsRolledOut(): Promise<void> {
    await this.plane.admin.rolledOut("-n", "kube-system", "daemonset/konnectivity-agent");
    await this.rolledOut("konnectivity-agent");
  }

  /** No pod of the control plane with this label is ending any more. */
  onlyNew(app: string = API_NAME): Promise<true> {
    const pods = ["get", "pods", "-n", NAMESPACE, "-l", `app=${app}`];
    return until(`the last pods of ${app} to be gone`, 170_000, async () => {
      return (await this.lab.kubectl(...pods, "-ojsonpath={.items[*].metadata.deletionTimestamp}")) === "";
    });
  }

  /** The control plane's own API, and a component with sidecars. */
  async startComponents(): Promise<void> {
    const { lab, plane } = this;
    const { name, address: clusterIP } = PLANE_API;
    const rendered = lab.scope.file("rendered");
    await this.mustRun("render", `--out=${rendered}`);
    const hosted = { adminConfig: plane.adminConfig, url: `https://${API_NAME}:${API_PORT}` };
    await Promise.all([
      lab.startWebhook(this.node, { name, namespace: NAMESPACE, dns: `${name}.default.svc`, clusterIP }),
      Component.start(lab, NAMESPACE, COMPONENT, rendered, { hosted, replicas: 1, graceSeconds: 30 }),
    ]);
  }

  /** Once the kube-apiserver uses the tunnel. */
  async workloadsReady(): Promise<void> {
    const api = `apiservice/${PLANE_API.version}.${PLANE_API.group}`;
    await Promise.all([
      workloadsReady(this.plane),
      this.rolledOut(COMPONENT),
      this.plane.admin.run(["wait", "--for=condition=Available", "--timeout=110s", api]),
    ]);
  }

  /** Another name for the kube-apiserver's image: the same layers. */
  async otherApiServerImage(): Promise<string> {
    const { image } = this.#design;
    await this.node.ctr(["images", "tag", "--force", image, `${image}-next`]);
    return `${image}-next`;
  }

  /** The same for drawbridge's, on all nodes. */
  async otherImage(): Promise<string> {
    const { image, nodes } = this.lab;
    const name = `${image}-next`;
    await Promise.all([...nodes, ...this.workers].map((node) => node.ctr(["images", "tag", "--force", image, name])));
    return name;
  }

  /** Nothing is left between the management cluster's node and the workers that would need a tunnel. */
  openNetwork(): Promise<void> {
    return this.#network.openTo(this.lab.hosts.nodes[0]!);
  }
}

/** Side by side, with Services for their pods and themselves. */
async function startWorkers(lab: BridgeLab, plane: HostedPlane, network: Workers, count: number): Promise<LabNode[]> {
  const { scope, hosts, archives } = lab;
  const machines = [];
  for (let index = 0; index < count; index++) machines.push(await network.add());
  const services = startServices(scope, {
    ...{ name: "hosted-services", kubeconfig: plane.adminConfig, netns: hosts.infra.name, address: ROUTER },
    ...{ podNetwork: PODS, nodes: machines.map(({ namespace }) => namespace.name) },
  });
  const starting = machines.map(async ({ name, namespace, address, podSubnet, podGateway }) => {
    const worker = await startNode(scope, plane, {
      ...{ name, netns: namespace.name, address, podSubnet, podGateway, clusterDns: ROUTER },
      executables: nodeExecutables(),
    });
    for (const archive of archives) await worker.importImage(archive);
    return worker;
  });
  const [workers] = await Promise.all([Promise.all(starting), services]);
  return workers;
}

/** As people do it: on the client's side. */
async function applyPlainly(admin: Kubectl, ...items: readonly object[]): Promise<void> {
  await admin.run(["apply", "-f", "-"], JSON.stringify({ apiVersion: "v1", kind: "List", items }));
}
