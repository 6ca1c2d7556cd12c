import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { hostedEgressFlag } from "../../../src/cluster/hosted/model/arguments.js";
import { type BridgeLab, startBridgeLab } from "../lab/bridge/lab.js";
import { component, nodeExecutables } from "../lab/equipment.js";
import type { Kubectl } from "../lab/kubectl.js";
import { type LabNode, startNode } from "../lab/node/node.js";
import type { Outcome } from "../lab/run.js";
import { until } from "../lab/wait.js";
import { buildControlPlaneImage } from "./image.js";
import { apiServer, controlPlaneObjects, type Design, NAMESPACE } from "./objects.js";
import { API_NAME, HostedPlane } from "./plane.js";
import { Workers } from "./workers.js";

const DRAWBRIDGE = fileURLToPath(new URL("../../../dist/bin/drawbridge", import.meta.url));
/** On the management cluster's nodes. */
const PORTS = { api: 30_443, agents: 30_091 };

/**
 * A hosted cluster whose control plane runs as pods of another one, and whose node is in a network of its own:
 *
 *   bs    192.168.66.10   the management cluster's kube-apiserver and controllers; administrators of both clusters
 *   n1    192.168.66.11   its node: etcd, kube-apiserver, controller-manager and scheduler of the hosted cluster are pods here
 *   w1    192.168.77.11   the hosted cluster's node, behind a router that lets nobody in
 */
export class HostedCluster {
  readonly lab: BridgeLab;
  readonly plane: HostedPlane;
  readonly worker: LabNode;
  readonly #config: string;
  readonly #design: Design;

  private constructor(lab: BridgeLab, plane: HostedPlane, worker: LabNode, design: Design) {
    this.lab = lab;
    this.plane = plane;
    this.worker = worker;
    this.#design = design;
    this.#config = lab.scope.file("hosted.json");
    const [node] = lab.nodes;
    const description = {
      name: "demo",
      replicas: design.replicas,
      publishing: { type: "NodePort", address: node!.address, port: PORTS.agents },
      image: { server: lab.image, agent: lab.image, sidecar: lab.image },
      // Pods of the lab's hosted cluster do not know the kube-apiserver's address.
      connectionChecker: false,
    };
    writeFileSync(this.#config, JSON.stringify(description));
  }

  /** Everything runs, and nothing of drawbridge is there. */
  static async start({ replicas = 1 } = {}): Promise<HostedCluster> {
    const lab = await startBridgeLab({ nodes: 1, services: true });
    try {
      const { scope, hosts, bs, nodes, archives } = lab;
      const image = buildControlPlaneImage(scope.file("control-plane.tar"));
      await nodes[0]!.importImage(image.path);
      const plane = new HostedPlane({
        ...{ folder: scope.file("hosted"), kubectl: component("kubectl"), netns: bs.netns },
        ...{ address: nodes[0]!.address, port: PORTS.api },
      });
      const design = { image: image.name, replicas, nodePort: PORTS.api };
      await applyPlainly(bs.admin, ...controlPlaneObjects(plane, design));
      await until("the hosted cluster to answer", 120_000, async () => {
        return (await plane.admin.try(["get", "serviceaccount/default"])).code === 0;
      });
      const { name, namespace, address, podSubnet, podGateway } = await (await Workers.make(hosts)).add();
      const worker = await startNode(scope, plane, {
        ...{ name, netns: namespace.name, address, podSubnet, podGateway, executables: nodeExecutables() },
      });
      for (const archive of archives) await worker.importImage(archive);
      return new HostedCluster(lab, plane, worker, design);
    } catch (error) {
      await lab.stop();
      throw error;
    }
  }

  stop(): Promise<void> {
    return this.lab.stop();
  }

  /** `drawbridge hosted ...`, as an administrator of the management cluster, and of the hosted one if `both`. */
  run(name: string, ...flags: readonly string[]): Promise<Outcome> {
    const { bs } = this.lab;
    const command = [DRAWBRIDGE, "hosted", name, `--config=${this.#config}`, `--kubeconfig=${bs.adminConfig}`];
    return bs.run([...command, ...flags], { timeoutMs: 120_000 });
  }

  get both(): string {
    return `--hosted-kubeconfig=${this.plane.adminConfig}`;
  }

  /** docs/hosted.md's step 2, whose patch and flag are one roll-out here. */
  async useTunnel(): Promise<Outcome> {
    const { admin } = this.lab.bs;
    const deployment = ["-n", NAMESPACE, `deployment/${API_NAME}`];
    await admin.run(["rollout", "pause", ...deployment]);
    const outcome = await this.run("apply", "--patch-kube-apiserver");
    await this.roll();
    await admin.run(["rollout", "resume", ...deployment]);
    await this.rolledOut();
    // Services of the tunnel have pods that are ending, too, and those of before have no server.
    await this.onlyNew();
    return outcome;
  }

  /** The kube-apiserver's owner applies it again, with the flag; another annotation is another roll-out. */
  roll(annotations: Readonly<Record<string, string>> = {}): Promise<void> {
    const flags = [hostedEgressFlag];
    return applyPlainly(this.lab.bs.admin, apiServer(this.plane, this.#design, { flags, annotations }));
  }

  /** No pod of the kube-apiserver is ending any more. */
  onlyNew(): Promise<true> {
    const pods = ["get", "pods", "-n", NAMESPACE, "-l", `app=${API_NAME}`, "-oname"];
    return until("the last roll-out's pods to be gone", 170_000, async () => {
      return (await this.lab.kubectl(...pods)).trim().split("\n").length === this.#design.replicas;
    });
  }

  async rolledOut(): Promise<void> {
    await this.lab.kubectl("rollout", "status", "-n", NAMESPACE, `deployment/${API_NAME}`, "--timeout=110s");
  }
}

/** As people do it: on the client's side. */
async function applyPlainly(admin: Kubectl, ...items: readonly object[]): Promise<void> {
  await admin.run(["apply", "-f", "-"], JSON.stringify({ apiVersion: "v1", kind: "List", items }));
}
