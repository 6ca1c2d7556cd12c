import type { ServerResponse } from "node:http";
import type { KubeObject } from "../port.js";
import { reply, type StubHandler, type StubRequest } from "./api-stub.js";

interface Change {
  readonly version: number;
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: KubeObject;
}

/** One collection of objects that behaves as in an API server: versions, conflicts, preconditions, selectors, watches. */
export class CollectionStub {
  readonly objects = new Map<string, KubeObject>();
  /** Answers before the collection does, when it returns true. */
  intercept: (request: StubRequest, response: ServerResponse) => boolean = () => false;
  #version = 100;
  #oldest = 0;
  readonly #path: string;
  readonly #changes: Change[] = [];
  readonly #watches = new Set<{ selector: string; response: ServerResponse }>();

  constructor(path: string) {
    this.#path = path;
  }

  put(object: KubeObject): KubeObject {
    const name = object.metadata?.name ?? "";
    const type = this.objects.has(name) ? "MODIFIED" : "ADDED";
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(++this.#version) } };
    this.objects.set(name, stored);
    this.#record(type, stored);
    return stored;
  }

  remove(name: string): void {
    const object = this.objects.get(name)!;
    this.objects.delete(name);
    this.#version++;
    this.#record("DELETED", { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#version) } });
  }

  get openWatches(): number {
    return this.#watches.size;
  }

  /** Sends something to every watch as it is. */
  send(event: unknown): void {
    for (const { response } of this.#watches) response.write(`${JSON.stringify(event)}\n`);
  }

  endWatches(): void {
    for (const { response } of this.#watches) response.end();
  }

  /** Versions up to now can no longer be watched from. */
  forget(): void {
    this.#oldest = ++this.#version;
  }

  readonly handle: StubHandler = (request, response) => {
    if (this.intercept(request, response)) return;
    if (request.path === this.#path && request.query.get("watch") === "true") {
      this.#watch(request, response);
    } else {
      const [status, body] = this.#answer(request);
      reply(response, status, body);
    }
  };

  #answer(request: StubRequest): [status: number, body: unknown] {
    if (request.path !== this.#path) return this.#object(request, request.path.slice(this.#path.length + 1));
    if (request.method === "POST") {
      const object = request.body as KubeObject;
      if (this.objects.has(object.metadata?.name ?? "")) return failure(409, "AlreadyExists");
      return [201, this.put(object)];
    }
    const selector = request.query.get("labelSelector") ?? "";
    const items = [...this.objects.values()].filter((object) => matches(object, selector));
    return [200, { kind: "List", metadata: { resourceVersion: String(this.#version) }, items }];
  }

  #object(request: StubRequest, name: string): [status: number, body: unknown] {
    const found = this.objects.get(name);
    if (found === undefined) return failure(404, "NotFound");
    if (request.method === "GET") return [200, found];
    const version = found.metadata?.resourceVersion;
    if (request.method === "PUT") {
      const object = request.body as KubeObject;
      return object.metadata?.resourceVersion === version ? [200, this.put(object)] : failure(409, "Conflict");
    }
    const { preconditions } = request.body as { preconditions?: { resourceVersion?: string } };
    if ((preconditions?.resourceVersion ?? version) !== version) return failure(409, "Conflict");
    this.remove(name);
    return [200, { kind: "Status", status: "Success" }];
  }

  #watch(request: StubRequest, response: ServerResponse): void {
    const selector = request.query.get("labelSelector") ?? "";
    const from = Number(request.query.get("resourceVersion"));
    response.writeHead(200, { "content-type": "application/json" });
    response.flushHeaders();
    if (from < this.#oldest) {
      const object = { kind: "Status", code: 410, reason: "Expired", message: "too old resource version" };
      response.end(`${JSON.stringify({ type: "ERROR", object })}\n`);
      return;
    }
    const watch = { selector, response };
    this.#watches.add(watch);
    response.on("close", () => this.#watches.delete(watch));
    for (const change of this.#changes) if (change.version > from) this.#send(watch, change);
  }

  #record(type: Change["type"], object: KubeObject): void {
    const change = { version: this.#version, type, object };
    this.#changes.push(change);
    for (const watch of this.#watches) this.#send(watch, change);
  }

  #send({ selector, response }: { selector: string; response: ServerResponse }, { type, object }: Change): void {
    if (matches(object, selector)) response.write(`${JSON.stringify({ type, object })}\n`);
  }
}

function failure(code: number, reason: string): [status: number, body: unknown] {
  return [code, { kind: "Status", status: "Failure", code, reason, message: `the stub says ${reason}` }];
}

/** Equality selectors only (`a=b,c=d`). */
function matches(object: KubeObject, selector: string): boolean {
  return selector
    .split(",")
    .filter((part) => part !== "")
    .every((part) => {
      const [key = "", value] = part.split("=");
      return object.metadata?.labels?.[key] === value;
    });
}
