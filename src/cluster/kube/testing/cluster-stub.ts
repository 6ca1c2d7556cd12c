/** An API server that knows a few objects, and remembers those that are made and removed. */
import type { ServerResponse } from "node:http";
import { createKubeApi } from "../client.js";
import type { KubeApi, KubeObject } from "../port.js";
import { ApiStub, reply, replyStatus, type StubRequest } from "./api-stub.js";

export class ClusterStub {
  /** By path: objects, and lists as arrays of objects. */
  readonly objects = new Map<string, unknown>();
  readonly api: KubeApi;
  readonly #stub: ApiStub;
  /** May answer in place of the stub; gives true when it did. */
  readonly #intercept: Intercept | undefined;

  private constructor(stub: ApiStub, intercept: Intercept | undefined) {
    this.#stub = stub;
    this.#intercept = intercept;
    this.api = createKubeApi({ server: stub.url, credentials: async () => ({ headers: {}, tls: {} }) }, { qps: -1 });
  }

  static async start(objects: Readonly<Record<string, unknown>> = {}, intercept?: Intercept): Promise<ClusterStub> {
    let cluster: ClusterStub | undefined;
    const stub = await ApiStub.start((request, response) => cluster!.#answer(request, response));
    cluster = new ClusterStub(stub, intercept);
    for (const [path, object] of Object.entries(objects)) cluster.objects.set(path, object);
    return cluster;
  }

  get requests(): readonly StubRequest[] {
    return this.#stub.requests;
  }

  close(): Promise<void> {
    this.api.close();
    return this.#stub.close();
  }

  async #answer(request: StubRequest, response: ServerResponse): Promise<void> {
    const { method, path, body } = request;
    if ((await this.#intercept?.(request, response, this)) === true) return;
    if (method === "POST") {
      const name = (body as KubeObject).metadata?.name ?? "";
      if (!request.query.has("dryRun")) this.objects.set(`${path}/${name}`, body);
      return reply(response, 201, body);
    }
    const known = this.objects.get(path) ?? this.#children(path);
    if (known === undefined) return replyStatus(response, 404, "NotFound", `${path} not found`);
    if (method === "DELETE") this.objects.delete(path);
    reply(response, 200, Array.isArray(known) ? { metadata: {}, items: known } : known);
  }

  #children(path: string): unknown[] | undefined {
    const within = [...this.objects].filter(
      ([name]) => name.startsWith(`${path}/`) && !name.slice(path.length + 1).includes("/"),
    );
    return within.length > 0 || /(pods|services|secrets|configurations|\/v1\/namespaces)$/.test(path)
      ? within.map(([, one]) => one)
      : undefined;
  }
}

export type Intercept = (
  request: StubRequest,
  response: ServerResponse,
  cluster: ClusterStub,
) => boolean | undefined | Promise<boolean | undefined>;
