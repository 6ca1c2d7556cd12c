/** A cluster's API over real HTTP, with just enough controllers: DaemonSets get ready pods, namespaces take all with them. */
import type { ServerResponse } from "node:http";
import { createKubeApi } from "../../../kube/client.js";
import type { KubeApi, KubeObject } from "../../../kube/port.js";
import { ApiStub, reply, replyStatus, type StubRequest } from "../../../kube/testing/api-stub.js";

interface Stored extends KubeObject {
  readonly metadata: NonNullable<KubeObject["metadata"]> & { readonly deletionTimestamp?: string };
}

export class FakeCluster {
  readonly objects = new Map<string, Stored>();
  readonly stub: ApiStub;
  /** Namespaces that wait for a finalizer nobody removes. */
  namespacesLinger = false;
  agentsConnect = true;
  isReady = true;
  metrics = "";
  /** Answers before the cluster does, when it returns true. */
  intercept: (request: StubRequest, response: ServerResponse) => boolean = () => false;
  readonly #opened: KubeApi[] = [];

  private constructor(stub: ApiStub) {
    this.stub = stub;
  }

  static async start(nodes: readonly string[] = ["n1", "n2"]): Promise<FakeCluster> {
    let cluster: FakeCluster | undefined;
    const stub = await ApiStub.start((request, response) => cluster?.answer(request, response));
    cluster = new FakeCluster(stub);
    cluster.put("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes", {
      metadata: { labels: { "kubernetes.io/service-name": "kubernetes" } },
      endpoints: [{ addresses: ["192.0.2.10"] }],
    });
    for (const [index, name] of nodes.entries()) {
      cluster.put(`/api/v1/nodes/${name}`, {
        status: { conditions: ready, addresses: [{ type: "InternalIP", address: `192.0.2.${11 + index}` }] },
      });
    }
    return cluster;
  }

  open(): KubeApi {
    const credentials = async () => ({ headers: {}, tls: {} });
    const api = createKubeApi({ server: this.stub.url, credentials }, { qps: -1 });
    this.#opened.push(api);
    return api;
  }

  put(path: string, object: object): void {
    const name = path.split("/").at(-1) ?? "";
    const namespace = /\/namespaces\/([^/]+)\/[^/]+\//.exec(path)?.[1];
    const given = (object as KubeObject).metadata;
    const place = namespace === undefined ? {} : { namespace };
    this.objects.set(path, { ...object, metadata: { ...place, ...given, name } });
  }

  /** `path`s of everything that carries a label of the bridge. */
  get labelled(): string[] {
    return [...this.objects].filter(([, { metadata }]) => isLabelled(metadata)).map(([path]) => path);
  }

  get hasAgents(): boolean {
    return [...this.objects.keys()].some((path) => /\/pods\/konnectivity-agent-/.test(path));
  }

  async close(): Promise<void> {
    for (const api of this.#opened) api.close();
    await this.stub.close();
  }

  answer(request: StubRequest, response: ServerResponse): void {
    if (this.intercept(request, response)) return;
    const { method, path } = request;
    if (path === "/readyz" || path === "/metrics") {
      response.writeHead(this.isReady ? 200 : 500).end(path === "/readyz" ? "ok" : this.metrics);
      return;
    }
    if (method === "GET" && isCollection(path)) this.#list(request, response);
    else if (method === "PATCH") reply(response, 200, this.#apply(path, request.body as Stored));
    else this.#one(method, path, response);
  }

  #one(method: string, path: string, response: ServerResponse): void {
    const found = this.objects.get(path);
    if (found === undefined) {
      replyStatus(response, 404, "NotFound", `${path} not found`);
      return;
    }
    if (method === "DELETE") this.#delete(path);
    reply(response, 200, found);
  }

  #apply(path: string, object: Stored): Stored {
    const before = this.objects.get(path);
    const stored = { ...before, ...object, metadata: { ...before?.metadata, ...object.metadata } };
    this.objects.set(path, stored);
    if (object.kind === "DaemonSet" && this.agentsConnect) this.#startAgents(stored);
    return stored;
  }

  #startAgents({ metadata, spec }: Stored & { spec?: unknown }): void {
    const template = (spec as { template: { metadata: object } }).template;
    for (const path of [...this.objects.keys()]) {
      const node = /^\/api\/v1\/nodes\/(.+)$/.exec(path)?.[1];
      if (node === undefined) continue;
      this.put(`/api/v1/namespaces/${metadata.namespace}/pods/konnectivity-agent-${node}`, {
        metadata: template.metadata,
        spec: { nodeName: node },
        status: { conditions: ready },
      });
    }
  }

  #delete(path: string): void {
    const namespace = /^\/api\/v1\/namespaces\/([^/]+)$/.exec(path)?.[1];
    if (namespace !== undefined && this.namespacesLinger) {
      const found = this.objects.get(path)!;
      const deletionTimestamp = "2031-01-01T00:00:00Z";
      this.objects.set(path, { ...found, metadata: { ...found.metadata, deletionTimestamp } });
      return;
    }
    this.objects.delete(path);
    for (const each of [...this.objects.keys()]) {
      const isIn = namespace !== undefined && each.includes(`/namespaces/${namespace}/`);
      const isAgent = path.endsWith("/daemonsets/konnectivity-agent") && /\/pods\/konnectivity-agent-/.test(each);
      if (isIn || isAgent) this.objects.delete(each);
    }
  }

  #list({ path, query }: StubRequest, response: ServerResponse): void {
    const plural = path.split("/").at(-1);
    const root = path.slice(0, path.lastIndexOf("/"));
    const isBelow = (each: string): boolean => each.startsWith(`${root}/`) && each.split("/").at(-2) === plural;
    const selector = query.get("labelSelector") ?? "";
    const [label = "", value] = selector.split("=");
    const items = [...this.objects]
      .filter(([each]) => isBelow(each))
      .map(([, object]) => object)
      .filter(({ metadata }) => selector === "" || metadata.labels?.[label] === value);
    reply(response, 200, { kind: "List", metadata: {}, items });
  }
}

const ready = [{ type: "Ready", status: "True" }];

function isLabelled({ labels }: Stored["metadata"]): boolean {
  return labels?.["openshift.io/bootstrap-only"] === "true";
}

const plurals =
  /\/(namespaces|daemonsets|secrets|serviceaccounts|rolebindings|pods|nodes|endpointslices|\w+webhookconfigurations)$/;

/** `/api/v1/namespaces/x/secrets`, not `/api/v1/namespaces/secrets`. */
function isCollection(path: string): boolean {
  return plurals.test(path) && !/^\/api\/v1\/namespaces\/[^/]+$/.test(path);
}
