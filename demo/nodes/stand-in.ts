/**
 * A stand-in for kube-apiserver and for the controller-manager's signer, on the pool's own directory: it knows requests and
 * Nodes, knows who calls by the machines' common token or a node's certificate, and signs what was approved. It approves nothing.
 */
import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import type { TLSSocket } from "node:tls";
import { KubeApiError } from "../../src/cluster/kube/errors.js";
import type { KubeApi, KubeObject } from "../../src/cluster/kube/port.js";
import { createDirectoryApi } from "../../src/cluster/nodes/controller/directory.js";
import { defaultPolicy } from "../../src/cluster/nodes/csr/request-context.js";
import {
  outcomeOf,
  REQUESTS_PATH,
  requestName,
  requestPath,
  type SigningRequest,
} from "../../src/cluster/nodes/csr/signing-request.js";
import { type Authority, createAuthority, issueCertificate } from "../../src/tunnel/pki/issue.js";
import type { Cluster } from "./cluster.js";
import { NAMESPACE } from "./pool.js";
import { signed } from "./signer.js";

const LOOK_EVERY_MS = 150;

interface Caller {
  readonly username: string;
  readonly groups: readonly string[];
}

export class StandInCluster implements Cluster {
  readonly description = "a directory of YAML objects, with a stand-in of the demo for API server and signer";
  readonly version = undefined;
  readonly signer = "the demo's signer";
  readonly api: KubeApi;
  readonly token: string;
  readonly #directory: string;
  readonly #authority: Authority;
  readonly #server: ReturnType<typeof createServer>;
  #signing: NodeJS.Timeout | undefined;

  private constructor(
    directory: string,
    api: KubeApi,
    token: string,
    authority: Authority,
    server: ReturnType<typeof createServer>,
  ) {
    this.#directory = directory;
    this.api = api;
    this.token = token;
    this.#authority = authority;
    this.#server = server;
  }

  static async start(directory: string): Promise<StandInCluster> {
    const authority = await createAuthority({ commonName: "demo cluster" });
    const request = { use: "server", commonName: "kube-apiserver", ipAddresses: ["127.0.0.1"] } as const;
    const { certificatePem: cert, privateKeyPem: key } = await issueCertificate(authority, request);
    const api = createDirectoryApi({ directory });
    const token = randomUUID();
    const tls = { cert, key, ca: authority.certificatePem, requestCert: true, rejectUnauthorized: false };
    const server = createServer(tls, (incoming, response) => void respond(api, token, incoming, response));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const standIn = new StandInCluster(directory, api, token, authority, server);
    standIn.#sign();
    return standIn;
  }

  get url(): string {
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get ca(): string {
    return this.#authority.certificatePem;
  }

  flags(): string[] {
    return [`--directory=${this.#directory}`, `--namespace=${NAMESPACE}`];
  }

  async close(): Promise<void> {
    clearTimeout(this.#signing);
    this.#server.closeAllConnections();
    this.#server.close();
  }

  /** What the controller-manager does in a cluster. */
  #sign(): void {
    const look = async () => {
      const { items } = await this.api.list<SigningRequest>(REQUESTS_PATH);
      for (const request of items) {
        if (outcomeOf(request) !== "approved" || request.status?.certificate) continue;
        const certificate = Buffer.from(await signed(this.#authority, request)).toString("base64");
        const status = { ...request.status, certificate };
        await this.api.update(`${requestPath(requestName(request))}/status`, { ...request, status });
      }
    };
    this.#signing = setTimeout(() => {
      // Whoever wrote in between is looked at next time.
      look()
        .catch(() => {})
        .finally(() => this.#sign());
    }, LOOK_EVERY_MS).unref();
  }
}

async function respond(
  api: KubeApi,
  token: string,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const send = (status: number, object: KubeObject) =>
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(object));
  try {
    const { method = "", url = "" } = incoming;
    const object = method === "GET" ? {} : ((await json(incoming)) as KubeObject);
    send(200, await answer(api, callerOf(incoming, token), method, url, object));
  } catch (reason) {
    send(reason instanceof KubeApiError ? reason.status : 500, statusOf(reason));
  }
}

async function answer(
  api: KubeApi,
  caller: Caller | undefined,
  method: string,
  url: string,
  object: KubeObject,
): Promise<KubeObject> {
  const [path = ""] = url.split("?", 1);
  if (caller === undefined) throw new KubeApiError("Unauthorized", { status: 401 });
  if (method === "GET") return api.get(path);
  if (method === "PUT" && caller.groups.includes("system:nodes")) return api.update(path, object);
  if (method !== "POST") throw new KubeApiError(`${caller.username} may not do that`, { status: 403 });
  // Who files a request is not for the request to say.
  const spec = { ...(object as SigningRequest).spec, ...caller };
  return api.create(path, path === REQUESTS_PATH ? ({ ...object, spec } as KubeObject) : object);
}

function callerOf({ headers, socket }: IncomingMessage, token: string): Caller | undefined {
  if (headers.authorization === `Bearer ${token}`) {
    return { username: defaultPolicy.bootstrapUser, groups: defaultPolicy.bootstrapGroups };
  }
  const { authorized, getPeerCertificate } = socket as TLSSocket;
  if (!authorized) return undefined;
  const { subject } = getPeerCertificate.call(socket);
  const all = (value: string | string[] | undefined) => [value ?? []].flat();
  return { username: all(subject.CN)[0] ?? "", groups: [...all(subject.O), "system:authenticated"] };
}

function statusOf(reason: unknown): KubeObject {
  const { message } = reason as Error;
  return { kind: "Status", apiVersion: "v1", message } as KubeObject;
}
