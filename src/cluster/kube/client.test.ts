import type { TLSSocket } from "node:tls";
import { afterEach, describe, expect, test } from "vitest";
import { eventually } from "../../base/testing/eventually.js";
import { ManualClock } from "../../base/testing/manual-clock.js";
import { plainText } from "../../base/text.js";
import { createAuthority, issueCertificate } from "../../tunnel/pki/issue.js";
import { createKubeApi } from "./client.js";
import type { KubeCredentials } from "./endpoint.js";
import { isNotFound, type KubeApiError } from "./errors.js";
import type { KubeApi } from "./port.js";
import { ApiStub, reply, replyStatus, type StubHandler } from "./testing/api-stub.js";

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const item of open.splice(0).reverse()) await item.close();
});

async function connect(
  handler: StubHandler,
  options: { clock?: ManualClock; qps?: number; credentials?: () => Promise<KubeCredentials> } = {},
): Promise<{ api: KubeApi; stub: ApiStub; clock: ManualClock }> {
  const clock = options.clock ?? new ManualClock();
  const stub = await ApiStub.start(handler);
  const credentials = options.credentials ?? (async () => ({ headers: { authorization: "Bearer t0" }, tls: {} }));
  const api = createKubeApi({ server: stub.url, credentials }, { clock, qps: options.qps ?? -1 });
  open.push(stub, api);
  return { api, stub, clock };
}

describe("createKubeApi", () => {
  test("speaks JSON with credentials", async () => {
    const { api, stub } = await connect(({ body }, response) => reply(response, 201, body));
    const made = await api.create("/api/v1/things", { kind: "Thing", metadata: { name: "é" } });
    expect(made).toEqual({ kind: "Thing", metadata: { name: "é" } });
    expect(stub.calls).toEqual(["POST /api/v1/things"]);
    expect(stub.requests[0]!.headers).toMatchObject({
      authorization: "Bearer t0",
      "content-type": "application/json",
      accept: "application/json",
    });
  });

  test("keeps its connection", async () => {
    const ports = new Set<number | undefined>();
    const { api } = await connect(({ message }, response) => {
      ports.add(message.socket.remotePort);
      reply(response, 200, {});
    });
    for (let i = 0; i < 3; i++) await api.get("/x");
    expect(ports.size).toBe(1);
  });

  test("verifies the server's certificate for every connection", async () => {
    const authority = await createAuthority({ commonName: "cluster" });
    const names = { commonName: "api", ipAddresses: ["127.0.0.1"] };
    const server = await issueCertificate(authority, { use: "server", ...names });
    const resumed: boolean[] = [];
    const stub = await ApiStub.start(
      ({ message }, response) => {
        resumed.push((message.socket as TLSSocket).isSessionReused());
        reply(response, 200, {}, { connection: "close" });
      },
      { cert: server.certificatePem, key: server.privateKeyPem },
    );
    const credentials = async () => ({ headers: {}, tls: { ca: authority.certificatePem } });
    const api = createKubeApi({ server: stub.url, credentials }, { clock: new ManualClock(), qps: -1 });
    open.push(stub, api);
    for (let i = 0; i < 3; i++) await api.get("/x");
    expect(resumed).toEqual([false, false, false]);
  });

  test("says what the API refused and why", async () => {
    const { api } = await connect((_, response) => replyStatus(response, 403, "Forbidden", "leases is forbidden"));
    await expect(api.get("/apis/x")).rejects.toMatchObject({
      code: "DB_API_FORBIDDEN",
      status: 403,
      reason: "Forbidden",
      detail: "leases is forbidden",
      message: "The Kubernetes API refused GET /apis/x with 403: leases is forbidden",
    });
  });

  test.each([
    [401, "DB_API_UNAUTHENTICATED", /has not expired/],
    [403, "DB_API_FORBIDDEN", /permission/],
    [409, "DB_API_REQUEST", /API server's words/],
  ])("names what has to be fixed after an answer with %s", async (status, code, remedy) => {
    const { api } = await connect((_, response) => replyStatus(response, status, "Because", "no"));
    await expect(api.get("/x")).rejects.toMatchObject({ code, remedy: expect.stringMatching(remedy) });
  });

  test("says of a 401 that its own client certificate has ended, and nothing of a good one", async () => {
    const authority = await createAuthority({ commonName: "a" });
    const past = { validForMs: 60_000, now: new Date(Date.now() - 3_600_000) };
    for (const [life, known] of [
      [past, /refused GET \/x with 401: no; the client certificate "CN=me" expired /],
      [{}, /with 401: no$/],
    ] as const) {
      const { certificatePem: cert } = await issueCertificate(authority, { use: "client", commonName: "me", ...life });
      const stub = await ApiStub.start((_, response) => replyStatus(response, 401, "Because", "no"));
      const credentials = async () => ({ headers: {}, tls: { cert } });
      const api = createKubeApi({ server: stub.url, credentials }, { qps: -1 });
      open.push(stub, api);
      await expect(api.get("/x")).rejects.toThrow(known);
    }
  });

  test("tells an API server of another cluster from one that does not answer", async () => {
    const [authority, other] = [await createAuthority({ commonName: "a" }), await createAuthority({ commonName: "b" })];
    const server = await issueCertificate(authority, { use: "server", commonName: "s", ipAddresses: ["127.0.0.1"] });
    const stub = await ApiStub.start((_, response) => reply(response, 200, {}), {
      cert: server.certificatePem,
      key: server.privateKeyPem,
    });
    const credentials = async () => ({ headers: {}, tls: { ca: other.certificatePem } });
    const api = createKubeApi({ server: stub.url, credentials }, { clock: new ManualClock(), qps: -1 });
    open.push(stub, api);
    const cause =
      /did not answer GET \/x: the certificate of the server at .*issuer "CN=a".*not signed by any of .*"CN=b"/;
    await expect(api.get("/x")).rejects.toMatchObject({
      ...{ code: "DB_API_CERTIFICATE", status: 0, message: expect.stringMatching(cause) },
    });
  });

  test("says of an API server's certificate that it has expired, and takes it where the kubeconfig skips verification", async () => {
    const life = { validForMs: 60_000, now: new Date(Date.now() - 3_600_000) };
    const authority = await createAuthority({ commonName: "a" });
    const names = { commonName: "s", ipAddresses: ["127.0.0.1"], ...life };
    const server = await issueCertificate(authority, { use: "server", ...names });
    const tls = { cert: server.certificatePem, key: server.privateKeyPem };
    const stub = await ApiStub.start((_, response) => reply(response, 200, {}), tls);
    const ask = (trust: KubeCredentials["tls"]) => {
      const credentials = async () => ({ headers: {}, tls: trust });
      const api = createKubeApi({ server: stub.url, credentials }, { clock: new ManualClock(), qps: -1 });
      open.push(api);
      return api.get("/x");
    };
    open.push(stub);
    await expect(ask({ ca: authority.certificatePem })).rejects.toMatchObject({
      code: "DB_API_CERTIFICATE",
      message: expect.stringMatching(/expired .* ago, .*this host's clock says/),
    });
    await expect(ask({ rejectUnauthorized: false })).resolves.toEqual({});
  });

  describe.each([
    [404, "text/plain; charset=utf-8", "404 page not found\n"],
    [403, "text/plain", "the certificate does not allow this"],
    [503, "text/html", "<html><h1>503 Service\u001b[31m Unavailable</h1>"],
    [301, "text/html", "<a href=/login>Moved</a>"],
    [200, "text/html", "<!doctype html>"],
    [200, "application/json", '"ready"'],
    [404, "application/json", '{"message":"no Route matched"}'],
    [401, "text/plain", ""],
  ])("something else that answers %s with %s", (status, type, body) => {
    const pool = "/apis/hypershift.openshift.io/v1beta1/namespaces/ns/nodepools/demo";

    test.each<[string, (api: KubeApi) => Promise<unknown>]>([
      ["a get", (api) => api.get(pool)],
      ["a list", (api) => api.list("/api/v1/nodes")],
      ["a watch", (api) => api.watch("/x", { resourceVersion: "1", signal: new AbortController().signal }).next()],
    ])("is not taken for the Kubernetes API by %s", async (_, ask) => {
      const { api, stub } = await connect((_, response) => {
        response.writeHead(status, { "content-type": type }).end(`${body}\n`);
      });
      const error: KubeApiError = await ask(api).then(
        () => expect.fail("that is not the API"),
        (reason) => reason,
      );
      expect(error).toMatchObject({
        code: "DB_API_NOT_KUBERNETES",
        status: 0,
        remedy: expect.stringMatching(/server:/),
      });
      const said = `${new URL(stub.url).host} answered ${status} with ${type.split(";")[0]}, which is not the Kubernetes API`;
      expect(error.message).toContain(said);
      expect(error.message).toContain(body === "" ? "the answer is empty" : JSON.stringify(plainText(body)));
      expect(isNotFound(error)).toBe(false);
    });
  });

  test("says of a port for TLS that server: has to begin with https://", async () => {
    const authority = await createAuthority({ commonName: "a" });
    const { certificatePem: cert, privateKeyPem: key } = await issueCertificate(authority, {
      ...{ use: "server", commonName: "s", ipAddresses: ["127.0.0.1"] },
    });
    const secure = await ApiStub.start((_, response) => reply(response, 200, {}), { cert, key });
    const server = secure.url.replace("https:", "http:");
    const plain = createKubeApi({ server, credentials: async () => ({ headers: {}, tls: {} }) }, { qps: -1 });
    open.push(secure, plain);
    await expect(plain.get("/x")).rejects.toThrow(/server: in the kubeconfig has to begin with https:/);
    const { api } = await connect((_, response) => {
      response.writeHead(400).end("Client sent an HTTP request to an HTTPS server.\n");
    });
    await expect(api.get("/x")).rejects.toThrow(/server: has to begin with https:\/\/ there$/);
  });

  test("does not take another program's object for a list", async () => {
    const { api } = await connect((_, response) => reply(response, 200, { status: "ok" }));
    await expect(api.list("/api/v1/nodes")).rejects.toMatchObject({ code: "DB_API_NOT_KUBERNETES" });
  });

  test("knows an API server that does not serve a path by its own header", async () => {
    const { api } = await connect((_, response) => {
      response.writeHead(404, { "audit-id": "b8f8", "content-type": "text/plain" }).end("404 page not found\n");
    });
    await expect(api.list("/apis/x.io/v1/things")).rejects.toMatchObject({ code: "DB_API_KIND", status: 404 });
  });

  test("names the server that cannot be reached, and shows no secret", async () => {
    const { api, stub } = await connect(() => {});
    await stub.close();
    const error: KubeApiError = await api.get("/x?token=secret").then(
      () => expect.fail("the stub is closed"),
      (reason) => reason,
    );
    expect(error).toMatchObject({ code: "DB_API_UNREACHABLE", status: 0 });
    expect(error.message).toContain(
      `${stub.url} did not answer GET /x: cannot connect to ${new URL(stub.url).host}: connection refused (ECONNREFUSED)`,
    );
    expect(error.message).not.toMatch(/secret|t0/);
  });

  test("names the server whose address is not a URL", async () => {
    const api = createKubeApi({ server: "api.test:6443", credentials: async () => ({ headers: {}, tls: {} }) });
    open.push(api);
    const message = expect.stringContaining("api.test:6443 did not answer GET /x: Protocol");
    await expect(api.get("/x")).rejects.toMatchObject({ code: "DB_API_UNREACHABLE", status: 0, message });
  });

  test.each(["before the head", "in the body"])("gives up at the deadline when nothing comes %s", async (when) => {
    let arrived = false;
    const { api, clock } = await connect((_, response) => {
      if (when === "in the body") response.writeHead(200, { "content-length": "10" }).write("{");
      arrived = true;
    });
    const answer = api.get("/x", { timeoutMs: 7000 }).catch((reason: unknown) => reason);
    await eventually(() => expect(arrived).toBe(true));
    clock.advance(7000);
    expect(await answer).toMatchObject({ status: 0, message: expect.stringContaining("nothing came within 7 s") });
    expect(clock.waiting).toEqual([]);
  });

  test("ends a request when the caller aborts it", async () => {
    const { api, clock, stub } = await connect(() => {});
    const caller = new AbortController();
    const answer = api.get("/x", { signal: caller.signal }).catch((reason: unknown) => reason);
    await eventually(() => expect(stub.requests).toHaveLength(1));
    caller.abort();
    expect(await answer).toMatchObject({ message: expect.stringContaining("called off") });
    expect(clock.waiting).toEqual([]);
  });

  test("waits as long as an overloaded API server asks, within the deadline", async () => {
    const { api, clock, stub } = await connect((_, response) => {
      if (stub.requests.length === 1) reply(response, 429, {}, { "retry-after": "5" });
      else if (stub.requests.length === 2) reply(response, 200, { kind: "Thing" });
      else reply(response, 429, { kind: "Status", message: "too many" }, { "retry-after": "60" });
    });
    const answer = api.get("/x");
    await eventually(() => expect(clock.waiting).toEqual([5000, 30_000]));
    clock.advance(5000);
    expect(await answer).toEqual({ kind: "Thing" });
    await expect(api.get("/x")).rejects.toMatchObject({ status: 429, detail: "too many" });
  });

  test("does not send more than the limit allows", async () => {
    const { api, clock, stub } = await connect((_, response) => reply(response, 200, {}), { qps: 1 });
    await Promise.all(Array.from({ length: 40 }, () => api.get("/x")));
    const late = api.get("/x");
    await expect(api.get("/x", { timeoutMs: 1500 })).rejects.toThrow(/too many requests/);
    expect(stub.requests).toHaveLength(40);
    clock.advance(1000);
    await late;
    expect(stub.requests).toHaveLength(41);
  });

  test("repeats what is safe to repeat when a kept connection dies under it", async () => {
    let dying = false;
    const { api, stub } = await connect(({ message }, response) => {
      if (dying && stub.requests.length % 2 === 0) message.socket.resetAndDestroy();
      else reply(response, 200, {});
    });
    await api.get("/warm");
    dying = true;
    await api.get("/x");
    expect(stub.calls).toEqual(["GET /warm", "GET /x", "GET /x"]);
    await expect(api.create("/things", {})).rejects.toMatchObject({ status: 0 });
    expect(stub.calls.slice(3)).toEqual(["POST /things"]);
    await api.get("/warm");
    await api.create("/apis/authentication.k8s.io/v1/tokenreviews", {});
    expect(stub.calls.slice(4)).toEqual([
      "GET /warm",
      "POST /apis/authentication.k8s.io/v1/tokenreviews",
      "POST /apis/authentication.k8s.io/v1/tokenreviews",
    ]);
  });
});

describe("credentials", () => {
  test("are read again after ten seconds, and at once when refused", async () => {
    let token = "one";
    let reads = 0;
    const { api, clock, stub } = await connect(
      ({ headers }, response) =>
        headers.authorization === "Bearer three" || stub.requests.length < 4
          ? reply(response, 200, {})
          : replyStatus(response, 401, "Unauthorized", "Unauthorized"),
      {
        credentials: async () => {
          reads++;
          return { headers: { authorization: `Bearer ${token}` }, tls: {} };
        },
      },
    );
    await api.get("/1");
    token = "two";
    await api.get("/2");
    clock.advance(10_000);
    await api.get("/3");
    token = "three";
    await api.get("/4");
    const sent = stub.requests.map(({ headers }) => headers.authorization?.slice(7));
    expect(sent).toEqual(["one", "one", "two", "two", "three"]);
    expect(reads).toBe(3);
  });

  test("are not shown twice to a server that refuses them", async () => {
    const { api, stub } = await connect((_, response) => replyStatus(response, 401, "Unauthorized", "no"));
    await expect(api.get("/x")).rejects.toMatchObject({ status: 401 });
    expect(stub.requests).toHaveLength(1);
  });
});

describe("list", () => {
  test("puts the pages together", async () => {
    const { api, stub } = await connect(({ query }, response) => {
      const page = Number(query.get("continue") ?? "1");
      const metadata = { resourceVersion: "7", ...(page < 3 ? { continue: String(page + 1) } : {}) };
      reply(response, 200, { metadata, items: page === 2 ? null : [{ metadata: { name: `n${page}` } }] });
    });
    const { items, metadata } = await api.list("/things", { labelSelector: "a in (b,c)", resourceVersion: "0" });
    expect(items.map((item) => item.metadata?.name)).toEqual(["n1", "n3"]);
    expect(metadata?.resourceVersion).toBe("7");
    const first = Object.fromEntries(stub.requests[0]!.query);
    expect(first).toEqual({ labelSelector: "a in (b,c)", resourceVersion: "0", limit: "500" });
    // The API refuses a version beside a continue token.
    expect(stub.requests[1]!.query.has("resourceVersion")).toBe(false);
  });
});

describe("apply", () => {
  test("names the field manager and sends the content type of server-side apply", async () => {
    const { api, stub } = await connect(({ body }, response) => reply(response, 200, body));
    const object = { apiVersion: "v1", kind: "Thing", metadata: { name: "a" } };
    expect(await api.apply("/things/a", object, { fieldManager: "me", force: true })).toEqual(object);
    await api.apply("/things/a", object, { fieldManager: "me" });
    const [forced, polite] = stub.requests;
    expect(forced).toMatchObject({ method: "PATCH", body: object });
    expect(forced!.headers["content-type"]).toBe("application/apply-patch+yaml");
    expect(Object.fromEntries(forced!.query)).toEqual({ fieldManager: "me", force: "true" });
    expect(Object.fromEntries(polite!.query)).toEqual({ fieldManager: "me" });
  });

  test("asks for a dry run only when the caller does", async () => {
    const { api, stub } = await connect(({ body }, response) => reply(response, 200, body));
    await api.apply("/things/a", {}, { fieldManager: "me", dryRun: true });
    await api.apply("/things/a", {}, { fieldManager: "me", dryRun: false });
    expect(stub.requests.map(({ query }) => query.get("dryRun"))).toEqual(["All", null]);
  });
});

describe("text", () => {
  test("returns an answer that is not JSON unchanged, and throws on failures", async () => {
    const { api, stub } = await connect(({ path }, response) => {
      if (path === "/readyz") response.end("ok");
      else response.writeHead(500, { "audit-id": "b8f8" }).end("[-]etcd failed\n");
    });
    expect(await api.text("/readyz")).toBe("ok");
    expect(stub.requests[0]!.headers.accept).toMatch(/^text\/plain/);
    await expect(api.text("/livez")).rejects.toMatchObject({
      ...{ status: 500, message: "The Kubernetes API refused GET /livez with 500: [-]etcd failed" },
    });
  });
});

describe("delete", () => {
  test("sends its precondition and its propagation policy", async () => {
    const { api, stub } = await connect((_, response) => reply(response, 200, {}));
    await api.delete("/things/a", { resourceVersion: "12" });
    await api.delete("/things/b");
    await api.delete("/things/c", { propagationPolicy: "Background" });
    expect(stub.requests.map(({ body }) => body)).toEqual([
      { apiVersion: "v1", kind: "DeleteOptions", preconditions: { resourceVersion: "12" } },
      { apiVersion: "v1", kind: "DeleteOptions" },
      { apiVersion: "v1", kind: "DeleteOptions", propagationPolicy: "Background" },
    ]);
  });
});
