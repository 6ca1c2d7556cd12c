/** Programs that know nothing of drawbridge, through the sidecar's proxies: server, agent and sidecar are real processes. */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import http, { type RequestListener } from "node:http";
import https from "node:https";
import type { AddressInfo, Server } from "node:net";
import { join } from "node:path";
import { Client, credentials, Server as GrpcServer, type handleUnaryCall, ServerCredentials } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { must, type Outcome, run } from "../support/lab/run.js";
import { NOTICE_WITHIN_MS, START_WITHIN_MS, waitUntil } from "../support/processes/deadline.js";
import { ours } from "../support/processes/executables.js";
import { get, metric } from "../support/processes/http.js";
import { freePorts } from "../support/processes/ports.js";
import { type RunningProcess, startProcess } from "../support/processes/process.js";
import { Scope } from "../support/processes/scope.js";
import { startTunnel, type Tunnel } from "../support/processes/tunnel.js";
import { SUFFIX, startSlapd } from "./sidecar-slapd.js";

/** Debian's packages that bring the clients; see .ci/install-packages. */
const CLIENTS = ["curl", "openssl", "git", "ldapsearch", "proxychains4", "slapadd"];
const missing = CLIENTS.filter((name) => !["/usr/bin", "/usr/sbin"].some((dir) => existsSync(join(dir, name))));
if (missing.length > 0) {
  const sentence = `${missing.join(", ")} missing: run .ci/install-packages.`;
  if (process.env.DRAWBRIDGE_REQUIRE_PEERS === "1") throw new Error(sentence);
  process.stderr.write(`skipped: ${sentence}\n`);
}

/** What the tester's own environment says about proxies must not decide anything here. */
const NO_PROXIES = Object.fromEntries(
  ["http_proxy", "https_proxy", "all_proxy", "no_proxy"].flatMap((name) => [
    [name, ""],
    [name.toUpperCase(), ""],
  ]),
);
const client = (...command: string[]): Promise<Outcome> => run(command, { env: NO_PROXIES, timeoutMs: 90_000 });
const curl = (...options: string[]): Promise<Outcome> => client("curl", "-sS", "--max-time", "60", ...options);

/** Of a cluster that nobody asks: names of these tests are addresses, or left to the agents. */
const IN_A_POD = { KUBERNETES_SERVICE_HOST: "127.0.0.1", KUBERNETES_SERVICE_PORT: "1" };

describe.skipIf(missing.length > 0)("through the sidecar's proxies", () => {
  const scope = new Scope();
  let tunnel: Tunnel;
  let sidecar: RunningProcess;
  let dir: string;
  let ports: { socks5: number; http: number; health: number };
  /** What the agent has dialled so far: the proof that nothing took another way. */
  const dialled = (): Promise<number> =>
    metric(tunnel.agents[0]!.healthPort, "konnectivity_network_proxy_agent_dial_duration_seconds_count");

  async function startSidecar(health: number, ...flags: string[]): Promise<RunningProcess> {
    const args = [...flags, `--health-port=${health}`, "--health-bind-address=127.0.0.1", "--probe-interval=300ms"];
    const process = scope.use(
      startProcess({ name: "sidecar", command: ours("drawbridge"), args, env: { ...NO_PROXIES, ...IN_A_POD } }),
    );
    const ready = async () => (await get(health, "/readyz")).status === 200;
    const context = () => `\n${process.log.tail()}`;
    await process.untilReady("it was ready", () =>
      waitUntil("the sidecar to be ready", ready, { withinMs: START_WITHIN_MS, context }),
    );
    return process;
  }

  async function serve(server: Server): Promise<number> {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    scope.defer(() => void server.close());
    return (server.address() as AddressInfo).port;
  }
  const web = (serveRequest: RequestListener): Promise<number> => serve(http.createServer(serveRequest));
  const secureWeb = (serveRequest: RequestListener): Promise<number> => {
    const { cert, key } = tunnel.pki.webhook;
    return serve(https.createServer({ cert: readFileSync(cert), key: readFileSync(key) }, serveRequest));
  };

  beforeAll(async () => {
    dir = scope.tempDir();
    const grpcFrontend = join(dir, "grpc.sock");
    tunnel = scope.use(
      await startTunnel({
        server: "ours",
        agent: "ours",
        frontend: "connect-tcp",
        serverFlags: [`--listen=grpc+uds:${grpcFrontend}`],
      }),
    );
    const [socks5, proxy, health] = (await freePorts(3)) as [number, number, number];
    ports = { socks5, http: proxy, health };
    sidecar = await startSidecar(
      health,
      ...["sidecar", `--listen=socks5://127.0.0.1:${socks5}`, `--listen=http://127.0.0.1:${proxy}`],
      ...[`--frontend=http-connect+tcp:localhost:${tunnel.place.frontendPort}`, ...caller()],
    );
  });
  afterAll(() => scope.close());

  const caller = (): string[] => [
    `--ca-cert-path=${tunnel.pki.caller.ca}`,
    `--tls-cert-path=${tunnel.pki.caller.cert}`,
    `--tls-key-path=${tunnel.pki.caller.key}`,
  ];
  const ca = (): string[] => ["--cacert", tunnel.pki.webhook.ca];
  const page: RequestListener = (request, response) =>
    response.end(`${request.method} ${request.url} for ${request.headers.host}\n`);

  test.each([
    ["--socks5", () => [`127.0.0.1:${ports.socks5}`]],
    ["--socks5-hostname", () => [`127.0.0.1:${ports.socks5}`]],
    ["-x", () => [`http://127.0.0.1:${ports.http}`]],
    ["-p", () => ["-x", `http://127.0.0.1:${ports.http}`]],
  ])("curl %s reaches http and https", async (option, more) => {
    const [plain, secure] = [await web(page), await secureWeb(page)];
    const before = await dialled();
    for (const url of [`http://localhost:${plain}/a?b`, `https://localhost:${secure}/a?b`]) {
      const { code, stdout, stderr } = await curl(option, ...more(), ...ca(), url);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect(stdout).toBe(`GET /a?b for ${new URL(url).host}\n`);
    }
    expect(await dialled()).toBe(before + 2);
  });

  test("curl uploads and downloads much, plainly and by CONNECT", async () => {
    const body = Buffer.alloc(20 << 20, "drawbridge ");
    writeFileSync(join(dir, "body"), body);
    const sum = createHash("sha256").update(body).digest("hex");
    const port = await web((request, response) => {
      const hash = createHash("sha256");
      request.on("data", (chunk) => hash.update(chunk));
      request.once("end", () => response.setHeader("X-Sum", hash.digest("hex")).end(body));
    });
    for (const how of [["-x"], ["-p", "-x"]]) {
      const options = [
        "-H",
        "Transfer-Encoding: chunked",
        "-T",
        join(dir, "body"),
        "-o",
        join(dir, "answer"),
        "-D",
        "-",
      ];
      const { code, stdout } = await curl(
        ...how,
        `http://127.0.0.1:${ports.http}`,
        ...options,
        `http://127.0.0.1:${port}/`,
      );
      expect(code).toBe(0);
      expect(stdout).toMatch(new RegExp(`x-sum: ${sum}`, "i"));
      expect(readFileSync(join(dir, "answer")).equals(body)).toBe(true);
    }
  });

  test("curl hears why it is refused, in each protocol's own terms", async () => {
    const [closed] = await freePorts(1);
    const url = `http://127.0.0.1:${closed}/`;
    const socks = await curl("--socks5", `127.0.0.1:${ports.socks5}`, url);
    expect(socks).toMatchObject({ code: 97, stderr: expect.stringContaining("(5)") });
    const connect = await curl("-p", "-x", `http://127.0.0.1:${ports.http}`, "-w", "%{http_connect}", url);
    expect(connect).toMatchObject({ code: 56, stdout: "502" });
    const plain = await curl("-x", `http://127.0.0.1:${ports.http}`, "-w", "%{http_code}", url);
    const back = `http://127.0.0.1:${ports.socks5}/`;
    const loop = await curl("-x", `http://127.0.0.1:${ports.http}`, "-w", "%{http_code}", back);
    expect(loop.stdout).toMatch(/\(DB_SIDECAR_LOOP: .*\)\n403$/s);
    expect(plain.stdout).toMatch(/refused.*\(DB_DIAL_FAILED: .*\)\n502$/s);
  });

  test("openssl s_client completes a handshake that nobody in between can read", async () => {
    const port = await secureWeb(page);
    const answer = await run(
      [
        ...["openssl", "s_client", "-proxy", `127.0.0.1:${ports.http}`, "-connect", `localhost:${port}`, "-ign_eof"],
        ...["-CAfile", tunnel.pki.webhook.ca, "-verify_return_error", "-verify_hostname", "localhost", "-quiet"],
      ],
      { input: "GET /s HTTP/1.0\r\nHost: me\r\n\r\n", timeoutMs: 60_000 },
    );
    expect(answer.stdout).toContain("GET /s for me");
  });

  test("git clones over http and over https", async () => {
    const work = join(dir, "work");
    const git = (...args: string[]) =>
      must(["git", "-c", "user.name=t", "-c", "user.email=t@localhost", ...args], {
        // The variable wins over http.sslCAInfo.
        env: { ...NO_PROXIES, GIT_SSL_CAINFO: tunnel.pki.webhook.ca },
      });
    mkdirSync(work);
    await git("init", "-q", work);
    writeFileSync(join(work, "file"), "content\n");
    await git("-C", work, "add", "file");
    await git("-C", work, "commit", "-q", "-m", "first");
    await git("clone", "-q", "--bare", work, join(dir, "site", "repo.git"));
    await git("-C", join(dir, "site", "repo.git"), "update-server-info");
    const files: RequestListener = ({ url = "/" }, response) => {
      const path = join(dir, "site", new URL(url, "http://x").pathname);
      if (existsSync(path)) response.end(readFileSync(path));
      else response.writeHead(404).end();
    };
    const before = await dialled();
    for (const origin of [`http://localhost:${await web(files)}`, `https://localhost:${await secureWeb(files)}`]) {
      const copy = join(dir, `copy-${origin.slice(0, 5)}`);
      await git("-c", `http.proxy=http://127.0.0.1:${ports.http}`, "clone", "-q", `${origin}/repo.git`, copy);
      expect(readFileSync(join(copy, "file"), "utf8")).toBe("content\n");
    }
    expect(await dialled()).toBeGreaterThan(before);
  });

  test("npm looks a package up", async () => {
    const port = await web((_request, response) => {
      const versions = { "1.2.3": { name: "small", version: "1.2.3", dist: { tarball: "", shasum: "" } } };
      response.setHeader("Content-Type", "application/json");
      response.end(JSON.stringify({ name: "small", "dist-tags": { latest: "1.2.3" }, versions }));
    });
    const options = [
      `--registry=http://localhost:${port}`,
      `--proxy=http://127.0.0.1:${ports.http}`,
      `--cache=${join(dir, "npm")}`,
    ];
    const before = await dialled();
    const { code, stdout } = await client(
      "npm",
      "view",
      "small",
      "version",
      "--noproxy=",
      "--no-update-notifier",
      ...options,
    );
    expect({ code, stdout }).toEqual({ code: 0, stdout: "1.2.3\n" });
    expect(await dialled()).toBeGreaterThan(before);
  });

  test("LDAP clients search a directory over SOCKS5", async () => {
    const { port, process: slapd } = await startSlapd(scope.tempDir());
    scope.use(slapd);
    const before = await dialled();
    const url = `ldap://127.0.0.1:${port}/${SUFFIX}?cn?sub?(uid=ada)`;
    const byCurl = await curl("--socks5-hostname", `127.0.0.1:${ports.socks5}`, url);
    expect(byCurl).toMatchObject({ code: 0, stdout: expect.stringContaining("cn: Ada Lovelace") });
    const chain = join(dir, "proxychains.conf");
    writeFileSync(chain, `strict_chain\nquiet_mode\n[ProxyList]\nsocks5 127.0.0.1 ${ports.socks5}\n`);
    const search = ["ldapsearch", "-x", "-LLL", "-H", `ldap://127.0.0.1:${port}`, "-b", SUFFIX, "(uid=ada)", "cn"];
    const bySearch = await client("proxychains4", "-q", "-f", chain, ...search);
    expect(bySearch).toMatchObject({ code: 0, stdout: expect.stringContaining("cn: Ada Lovelace") });
    expect(await dialled()).toBe(before + 2);
  });

  test("a gRPC client calls a server by CONNECT", async () => {
    const bytes = (value: Buffer): Buffer => value;
    const method = { path: "/test.Echo/Say", requestStream: false, responseStream: false } as const;
    const codec = {
      requestSerialize: bytes,
      requestDeserialize: bytes,
      responseSerialize: bytes,
      responseDeserialize: bytes,
    };
    const server = new GrpcServer();
    const say: handleUnaryCall<Buffer, Buffer> = (call, done) =>
      done(null, Buffer.concat([Buffer.from("heard "), call.request]));
    server.addService({ say: { ...method, ...codec } }, { say });
    const port = await new Promise<number>((resolve, reject) =>
      server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
        error ? reject(error) : resolve(bound),
      ),
    );
    scope.defer(() => server.forceShutdown());
    const before = await dialled();
    process.env.grpc_proxy = `http://127.0.0.1:${ports.http}`;
    scope.defer(() => void delete process.env.grpc_proxy);
    const stub = new Client(`localhost:${port}`, credentials.createInsecure());
    const answer = await new Promise<Buffer>((resolve, reject) =>
      stub.makeUnaryRequest(method.path, bytes, bytes, Buffer.from("hello"), (error, value) =>
        error ? reject(error) : resolve(value!),
      ),
    );
    stub.close();
    expect(String(answer)).toBe("heard hello");
    expect(await dialled()).toBe(before + 1);
  });

  test("curl works through a sidecar with a gRPC frontend", async () => {
    const [proxy, health] = (await freePorts(2)) as [number, number];
    const other = await startSidecar(
      health,
      ...["sidecar", `--listen=http://127.0.0.1:${proxy}`, `--frontend=grpc+uds:${join(dir, "grpc.sock")}`],
    );
    const url = `https://localhost:${await secureWeb(page)}/g`;
    for (let i = 0; i < 3; i++)
      expect(await curl("-x", `http://127.0.0.1:${proxy}`, ...ca(), url)).toMatchObject({ code: 0 });
    expect(await other.stop()).toEqual({ code: 0, signal: null });
  });

  test.each([
    [
      "konnectivity-socks5-proxy",
      ["--disable-resolver=true"],
      (port: number) => ["--socks5-hostname", `127.0.0.1:${port}`],
      "localhost",
    ],
    [
      "konnectivity-https-proxy",
      ["--http-proxy", "", "--https-proxy", ""],
      (port: number) => ["-x", `http://127.0.0.1:${port}`],
      "127.0.0.1",
    ],
  ])("%s takes the place of HyperShift's", async (name, flags, options, host) => {
    const [serving, health] = (await freePorts(2)) as [number, number];
    const { frontendPort } = tunnel.place;
    await startSidecar(
      health,
      ...[name, "run", "--konnectivity-hostname=localhost", `--konnectivity-port=${frontendPort}`, ...caller()],
      ...[`--serving-port=${serving}`, ...flags],
    );
    const { code, stderr } = await curl(...options(serving), ...ca(), `https://${host}:${await secureWeb(page)}/`);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  });

  test("readiness follows the tunnel, and the end is orderly", async () => {
    await tunnel.killAgents();
    const readyz = () => get(ports.health, "/readyz");
    const soon = { withinMs: NOTICE_WITHIN_MS };
    // A probe that was under way when the agents died names that (DB_AGENT_LOST); the next one finds that there is none.
    const saysNone = async () => {
      const { status, body } = await readyz();
      return status === 503 && body.includes("DB_NO_AGENT");
    };
    await waitUntil("the sidecar to say that there is no agent", saysNone, soon);
    expect((await get(ports.health, "/healthz")).status).toBe(200);
    const { stdout } = await curl(
      "-p",
      "-x",
      `http://127.0.0.1:${ports.http}`,
      "-w",
      "%{http_connect}",
      "http://127.0.0.1:1/",
    );
    expect(stdout).toBe("503");
    await tunnel.addAgent();
    await waitUntil("the sidecar to be ready again", async () => (await readyz()).status === 200, soon);
    expect(await metric(ports.health, "drawbridge_sidecar_ready")).toBe(1);
    expect(await sidecar.stop()).toEqual({ code: 0, signal: null });
  });
});
