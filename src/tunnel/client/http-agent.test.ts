import { readFileSync } from "node:fs";
import http, { type IncomingMessage, type RequestListener } from "node:http";
import https from "node:https";
import type { AddressInfo, Server, Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { waitUntil } from "../../../test/support/processes/deadline.js";
import { freePort } from "../../../test/support/processes/ports.js";
import { startBlackHole } from "../../../test/support/targets/black-hole.js";
import { DialRefusedError } from "./errors.js";
import { GrpcTunnelPool } from "./grpc-pool.js";
import { createHttpAgent, createHttpsAgent } from "./http-agent.js";
import { FRONTENDS, startTunnelFixture, type TunnelFixture } from "./testing/fixture.js";

let fixture: TunnelFixture;
let plain: Site;
let secure: Site;
let ca: string;

/** A web server behind the tunnel that answers with what it was asked and counts its connections. */
interface Site {
  readonly server: Server;
  readonly port: number;
  connections: number;
}

const answer: RequestListener = (request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => response.end(`${request.url} ${Buffer.concat(chunks).length}`));
};

async function startSite(server: http.Server | https.Server, event: string): Promise<Site> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const site = { server, port: (server.address() as AddressInfo).port, connections: 0 };
  server.on(event, (socket: Socket) => {
    site.connections++;
    socket.on("error", () => {});
  });
  return site;
}

beforeAll(async () => {
  fixture = await startTunnelFixture();
  await fixture.startAgent();
  ca = readFileSync(fixture.files.ca, "utf8");
  const identity = { cert: readFileSync(fixture.files.endpoint), key: readFileSync(fixture.files.endpointKey) };
  plain = await startSite(http.createServer(answer), "connection");
  secure = await startSite(https.createServer(identity, answer), "secureConnection");
});

afterAll(async () => {
  for (const { server } of [plain, secure]) server.close();
  await fixture.close();
});

function ask(url: string, agent: http.Agent, body = ""): Promise<string> {
  const { request } = url.startsWith("https:") ? https : http;
  return new Promise((resolve, reject) => {
    const sent = request(url, { agent, method: "POST" }, (response: IncomingMessage) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () => resolve(Buffer.concat(chunks).toString()));
      response.on("error", reject);
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

const noTunnels = () => waitUntil("the tunnels to be gone", () => fixture.server.board.establishedTunnels === 0);

describe.each(FRONTENDS)("agents through %s", (name) => {
  test("keep one https connection for 20 requests", async () => {
    const agent = createHttpsAgent(fixture.frontends[name], { keepAlive: true, ca });
    const before = secure.connections;
    for (let turn = 0; turn < 20; turn++) {
      const body = "x".repeat(turn * 5000);
      expect(await ask(`https://localhost:${secure.port}/${turn}`, agent, body)).toBe(`/${turn} ${body.length}`);
    }
    expect(secure.connections - before).toBe(1);
    agent.destroy();
    await noTunnels();
  });

  test("serve http, a connection a request unless told to keep them", async () => {
    const agent = createHttpAgent(fixture.frontends[name]);
    const before = plain.connections;
    const urls = Array.from({ length: 8 }, (_, turn) => `http://127.0.0.1:${plain.port}/${turn}`);
    expect(await Promise.all(urls.map((url) => ask(url, agent)))).toEqual(urls.map((_, turn) => `/${turn} 0`));
    expect(plain.connections - before).toBeGreaterThan(1);
    agent.destroy();
    await noTunnels();
  });

  test("notice that the target closed an idle connection", async () => {
    const brief = await startSite(http.createServer({ keepAliveTimeout: 20 }, answer), "connection");
    const agent = createHttpAgent(fixture.frontends[name], { keepAlive: true });
    expect(await ask(`http://127.0.0.1:${brief.port}/first`, agent)).toBe("/first 0");
    await waitUntil("the idle connection to leave the agent", () => Object.keys(agent.freeSockets).length === 0);
    expect(await ask(`http://127.0.0.1:${brief.port}/second`, agent)).toBe("/second 0");
    expect(brief.connections).toBe(2);
    agent.destroy();
    brief.server.close();
  });

  test("check the target's certificate, not the proxy-server's", async () => {
    const agent = createHttpsAgent(fixture.frontends[name], { ca });
    const stranger = createHttpsAgent(fixture.frontends[name]);
    await expect(ask(`https://localhost:${secure.port}/`, stranger)).rejects.toThrow(/unable to verify|self.signed/);
    const named = { servername: "other.example" };
    const request = new Promise((_resolve, reject) => {
      https.get(`https://localhost:${secure.port}/`, { agent, ...named }).on("error", reject);
    });
    await expect(request).rejects.toMatchObject({ code: "ERR_TLS_CERT_ALTNAME_INVALID" });
    await noTunnels();
  });

  test("hand the refusal to the request", async () => {
    const url = `http://127.0.0.1:${await freePort()}/`;
    await expect(ask(url, createHttpAgent(fixture.frontends[name]))).rejects.toBeInstanceOf(DialRefusedError);
  });

  test("give a request its own timeout while the target is silent", async () => {
    const silent = await startSite(
      http.createServer(() => {}),
      "connection",
    );
    const agent = createHttpAgent(fixture.frontends[name], { keepAlive: true });
    const timedOut = await new Promise<boolean>((resolve, reject) => {
      const request = http.get(`http://127.0.0.1:${silent.port}/`, { agent, timeout: 100 });
      request.on("timeout", () => {
        request.destroy();
        resolve(true);
      });
      request.on("response", () => resolve(false));
      request.on("error", (error) => (request.destroyed ? undefined : reject(error)));
    });
    expect(timedOut).toBe(true);
    await noTunnels();
    silent.server.close();
  });
});

describe("an agent", () => {
  test("gives its dials up when it is destroyed, and after its own deadline", async () => {
    const hole = await startBlackHole();
    const agent = createHttpAgent(fixture.frontends["connect-uds"]);
    const request = ask(`http://${hole.address}/`, agent);
    const refused = expect(request).rejects.toThrow("the agent was destroyed");
    await waitUntil("the dial to be under way", () => fixture.server.board.pendingDials === 1);
    agent.destroy();
    await refused;
    const hasty = createHttpAgent(fixture.frontends["connect-uds"], { dialTimeoutMs: 200 });
    await expect(ask(`http://${hole.address}/`, hasty)).rejects.toMatchObject({ code: "DB_DIAL_TIMEOUT" });
    await waitUntil("the dials to be forgotten", () => fixture.server.board.pendingDials === 0);
    await hole.close();
  });

  test("takes its tunnels from a pool, too", async () => {
    const frontend = fixture.frontends["grpc-tcp"];
    const pool = new GrpcTunnelPool({ ...frontend, mode: "grpc" });
    const agent = createHttpsAgent(pool, { ca });
    const asked = Array.from({ length: 10 }, (_, turn) => ask(`https://localhost:${secure.port}/${turn}`, agent));
    expect(await Promise.all(asked)).toEqual(asked.map((_, turn) => `/${turn} 0`));
    agent.destroy();
    await pool.close();
    await noTunnels();
  });
});
