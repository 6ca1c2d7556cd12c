import { buildImage } from "../../../../image/image.js";
import { type ControlPlane, type Entrance, makeControlPlane } from "../control-plane.js";
import { startControllerManager, WORKLOAD_CONTROLLERS } from "../controller-manager.js";
import { component, controlPlaneExecutables, nodeExecutables } from "../equipment.js";
import { BOOTSTRAP, Hosts, INFRA, POD_NETWORK } from "../hosts.js";
import { type LabNode, startNode } from "../node/node.js";
import { type Outcome, type RunOptions, run } from "../run.js";
import { startScheduler } from "../scheduler.js";
import { Scope } from "../scope.js";
import { startServices } from "../services/services.js";
import { buildUpstreamImage } from "./images.js";
import { becomeKubeadmHost, type KubeadmHost } from "./kubeadm-host.js";
import { type WebhookPlace, WebhookPod } from "./webhook-pod.js";

export interface BridgeLabOptions {
  readonly nodes?: number;
  /** Whether nodes have a pod network from the start. Without one they stay NotReady until `installCni`. */
  readonly cni?: boolean;
  /** A second kube-apiserver, on the last of the nodes, which never has an egress configuration. */
  readonly production?: boolean;
  /** Pods find Services by name, and they and the nodes reach them by address, as with kube-proxy and a cluster DNS. */
  readonly services?: boolean;
}

/** A host of the lab with a kube-apiserver on it. */
export interface ApiHost extends Entrance {
  readonly netns: string;
  readonly address: string;
  /** A command in this host's network, to its end. */
  run(command: readonly string[], options?: RunOptions): Promise<Outcome>;
}

/** A cluster under construction; see README.md. */
export class BridgeLab {
  readonly scope: Scope;
  readonly plane: ControlPlane;
  /** The bootstrap host: its kube-apiserver runs, without egress configuration, and has no route to any pod. */
  readonly bs: ApiHost;
  /** Where kubelets, controllers and scheduler are at home, if the lab has it. */
  readonly production: ApiHost | undefined;
  readonly nodes: LabNode[] = [];
  /** What pods put into `image:`. All nodes have it. */
  readonly image: string;
  readonly hosts: Hosts;
  /** Of the images that all nodes have. */
  readonly archives: string[];
  readonly #hasServices: boolean;

  private constructor(
    parts: Pick<BridgeLab, "scope" | "plane" | "bs" | "production" | "image">,
    hosts: Hosts,
    archive: string,
    hasServices: boolean,
  ) {
    this.scope = parts.scope;
    this.plane = parts.plane;
    this.bs = parts.bs;
    this.production = parts.production;
    this.image = parts.image;
    this.hosts = hosts;
    this.archives = [archive];
    this.#hasServices = hasServices;
  }

  static async start(options: BridgeLabOptions = {}): Promise<BridgeLab> {
    const { nodes = 2, cni = true, production = false, services = false } = options;
    const scope = new Scope("bridge");
    try {
      const hosts = await Hosts.make(scope);
      for (let count = 0; count < nodes; count++) await hosts.addNode();
      const plane = await makeControlPlane(scope, {
        ...{ executables: controlPlaneExecutables(), netns: hosts.bs.name, host: BOOTSTRAP },
        ...{ admitServiceAccounts: true, shareEtcd: production },
      });
      await plane.apiServer.start();
      const second = production ? await startProduction(plane, hosts) : undefined;
      const archive = scope.file("drawbridge.tar");
      const { name: image } = await buildImage({ out: archive });
      const bs = asHost(plane, hosts.bs.name, BOOTSTRAP);
      const lab = new BridgeLab({ scope, plane, bs, production: second, image }, hosts, archive, services);
      await Promise.all([
        lab.#startControllers(),
        ...(services ? [lab.#startServices()] : []),
        ...hosts.nodes.map((_, index) => lab.#startNode(index, cni)),
      ]);
      return lab;
    } catch (error) {
      await scope.close();
      throw error;
    }
  }

  /** kubectl on the bootstrap host, as administrator; must succeed. */
  kubectl(...args: readonly string[]): Promise<string> {
    return this.bs.admin.run(args);
  }

  apply(...objects: readonly object[]): Promise<void> {
    return this.bs.admin.apply(...objects);
  }

  /** One more real node, as when a machine joins late. */
  async addNode({ cni = true }: { readonly cni?: boolean } = {}): Promise<LabNode> {
    await this.hosts.addNode();
    return this.#startNode(this.hosts.nodes.length - 1, cni);
  }

  /** On every node there is, and on those to come. */
  async importImage(archive: string): Promise<void> {
    this.archives.push(archive);
    await Promise.all(this.nodes.map((node) => node.importImage(archive)));
  }

  /** Gives the nodes an image with upstream's programs, for the same manifests with another `image:`. */
  async importUpstreamImage(): Promise<string> {
    const { name, path } = buildUpstreamImage(this.scope.file("upstream.tar"));
    await this.importImage(path);
    return name;
  }

  /** An HTTPS workload in the pod network: admission and conversion webhooks, aggregated API (objects.ts). */
  startWebhook(node: LabNode | undefined = this.nodes[0], place?: WebhookPlace): Promise<WebhookPod> {
    if (node === undefined) throw new Error("a webhook needs a node to run on");
    return WebhookPod.start(this.bs.admin, this.plane.ca, this.image, node, place);
  }

  /** Lets a real kubelet run the bootstrap kube-apiserver from a manifest, as on a host that kubeadm made. */
  becomeKubeadmHost(): Promise<KubeadmHost> {
    return becomeKubeadmHost(this, this.archives);
  }

  stop(): Promise<void> {
    return this.scope.close();
  }

  get #home(): Entrance {
    return this.production ?? this.plane;
  }

  async #startControllers(): Promise<void> {
    const { scope, plane } = this;
    const entrance = this.#home;
    const executable = component("kube-controller-manager");
    await Promise.all([
      startControllerManager(scope, plane, { executable, controllers: WORKLOAD_CONTROLLERS, entrance }),
      startScheduler(scope, plane, { executable: component("kube-scheduler"), entrance }),
    ]);
  }

  /** For the nodes there are at the start. */
  #startServices(): Promise<void> {
    const { infra, nodes } = this.hosts;
    return startServices(this.scope, {
      ...{ name: "services", kubeconfig: this.#home.adminConfig, netns: infra.name, address: INFRA },
      podNetwork: POD_NETWORK,
      nodes: nodes.map(({ namespace }) => namespace.name),
    });
  }

  async #startNode(index: number, cni: boolean): Promise<LabNode> {
    const host = this.hosts.nodes[index];
    if (host === undefined) throw new Error(`there is no host for node ${index + 1}`);
    const { name, address, podSubnet, podGateway } = host;
    const node = await startNode(this.scope, this.plane, {
      ...{ name, address, podSubnet, podGateway, cni, netns: host.namespace.name },
      api: this.#home.api,
      clusterDns: this.#hasServices ? INFRA : undefined,
      executables: nodeExecutables(),
    });
    for (const archive of this.archives) await node.importImage(archive);
    // Nodes start side by side, but are found in the order of their names.
    this.nodes.push(node);
    this.nodes.sort((a, b) => a.name.localeCompare(b.name));
    return node;
  }
}

export const startBridgeLab = (options?: BridgeLabOptions): Promise<BridgeLab> => BridgeLab.start(options);

async function startProduction(plane: ControlPlane, hosts: Hosts): Promise<ApiHost> {
  const host = hosts.nodes.at(-1);
  if (host === undefined) throw new Error("the production kube-apiserver needs a node to stand on");
  const { namespace, address } = host;
  const entrance = plane.anotherApiServer("production-kube-apiserver", namespace.name, address);
  await entrance.apiServer.start();
  return asHost(entrance, namespace.name, address);
}

function asHost({ api, apiServer, admin, adminConfig }: Entrance, netns: string, address: string): ApiHost {
  const runHere = (command: readonly string[], options?: RunOptions) => run(command, { ...options, netns });
  return { api, apiServer, admin, adminConfig, netns, address, run: runHere };
}
