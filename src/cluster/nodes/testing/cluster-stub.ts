/** The parts of an API server that an approver talks to. */
import type { KubeObject } from "../../kube/port.js";
import { ApiStub, reply, replyStatus, type StubHandler } from "../../kube/testing/api-stub.js";
import { CollectionStub } from "../../kube/testing/collection-stub.js";
import { REQUESTS_PATH, type SigningRequest } from "../csr/signing-request.js";
import type { WorkerObject } from "../workers/resource.js";

export const namespace = "drawbridge";

export class ApproverClusterStub {
  readonly requests = new CollectionStub(REQUESTS_PATH);
  readonly nodes = new CollectionStub("/api/v1/nodes");
  readonly configMaps = new CollectionStub(`/api/v1/namespaces/${namespace}/configmaps`);
  readonly leases = new CollectionStub(`/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`);
  readonly workers = new CollectionStub(`/apis/drawbridge.dev/v1alpha1/namespaces/${namespace}/workers`);
  readonly services = new CollectionStub("/api/v1/namespaces/default/services");
  readonly endpointSlices = new CollectionStub("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices");
  /** Set by `start`. */
  stub!: ApiStub;

  static async start(): Promise<ApproverClusterStub> {
    const cluster = new ApproverClusterStub();
    cluster.stub = await ApiStub.start(cluster.#handle);
    return cluster;
  }

  get url(): string {
    return this.stub.url;
  }

  /** `csr-x Approved`, of every request that has an answer. */
  get answers(): string[] {
    return [...this.requests.objects.values()].flatMap(({ metadata, status }: SigningRequest) =>
      (status?.conditions ?? []).map(({ type }) => `${metadata?.name} ${type}`),
    );
  }

  put(collection: CollectionStub, ...objects: readonly KubeObject[]): void {
    for (const object of objects) collection.put(object);
  }

  async close(): Promise<void> {
    await this.stub.close();
  }

  readonly #handle: StubHandler = (request, response) => {
    const approved = /^(.*)\/([^/]+)\/approval$/.exec(request.path);
    if (approved?.[1] === REQUESTS_PATH) {
      const found = this.requests.objects.get(approved[2] ?? "");
      const body = request.body as SigningRequest;
      if (found === undefined) return replyStatus(response, 404, "NotFound", "gone");
      if (found.metadata?.resourceVersion !== body.metadata?.resourceVersion) {
        return replyStatus(response, 409, "Conflict", "changed");
      }
      return reply(response, 200, this.requests.put(body));
    }
    const [, worker] = /workers\/([^/]+)\/status$/.exec(request.path) ?? [];
    if (worker !== undefined) {
      const [found, body] = [this.workers.objects.get(worker), request.body as WorkerObject];
      const isCurrent = found?.metadata?.resourceVersion === body.metadata?.resourceVersion;
      if (found === undefined) return replyStatus(response, 404, "NotFound", "gone");
      if (!isCurrent) return replyStatus(response, 409, "Conflict", "changed");
      return reply(response, 200, this.workers.put({ ...found, status: body.status } as WorkerObject));
    }
    const collections = [this.requests, this.nodes, this.configMaps, this.leases, this.workers, this.services];
    const paths = [REQUESTS_PATH, "/api/v1/nodes", "configmaps", "leases", "workers", "services"];
    const index = paths.findIndex((path) => request.path.includes(path));
    return (collections[index] ?? this.endpointSlices).handle(request, response) ?? undefined;
  };
}
