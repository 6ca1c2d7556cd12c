import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { afterEach, describe, expect, test } from "vitest";
import { agentDialEnded } from "../../src/tunnel/events/channels.js";
import type { ServerConfig } from "../../src/tunnel/server/config.js";
import { ProxyServer } from "../../src/tunnel/server/server.js";
import { payload, readExactly, readToEnd } from "../support/callers/bytes.js";
import { waitUntil } from "../support/processes/deadline.js";
import { freePort } from "../support/processes/ports.js";
import { type BlackHole, startBlackHole } from "../support/targets/black-hole.js";
import { startBanner, startEcho } from "../support/targets/echo.js";
import { startAnswerAfterEnd, startSteered } from "../support/targets/half-open.js";
import { connectCaller, connectCallerTls, readHead, tunnelTo } from "./fixture/connect.js";
import { openFixture } from "./fixture/fixture.js";
import { rawAgent } from "./fixture/grpc.js";
import { makeFixturePki } from "./fixture/pki.js";

const opened: { close(): unknown }[] = [];
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close();
});

function keep<T extends { close(): unknown }>(thing: T): T {
  opened.push(thing);
  return thing;
}

describe.each([
  ["Unix socket", connectCaller],
  ["TLS", connectCallerTls],
])("half-close through %s", (_name, open) => {
  test("the caller ends first and still gets its answer, whole", async () => {
    const fixture = keep(await openFixture());
    const answer = payload("answer", 300_000);
    const target = keep(await startAnswerAfterEnd((request) => Buffer.concat([request.subarray(0, 4), answer])));
    const caller = await tunnelTo(fixture, target.address, open);
    caller.end("ping");
    const { bytes } = await readToEnd(caller);
    expect(bytes.equals(Buffer.concat([Buffer.from("ping"), answer]))).toBe(true);
    await waitUntil("the tunnel to be over", () => fixture.server.board.establishedTunnels === 0);
    await waitUntil("the agent to be idle", () => fixture.agent.idle);
  });

  test("the endpoint ends first and still gets what the caller sends", async () => {
    const fixture = keep(await openFixture());
    const target = keep(await startSteered());
    const caller = await tunnelTo(fixture, target.address, open);
    const conversation = await target.next();
    conversation.socket.end("goodbye");
    const { bytes } = await readToEnd(caller);
    expect(bytes.toString()).toBe("goodbye");
    const late = payload("late", 300_000);
    caller.end(late);
    await conversation.inputEnded;
    expect(conversation.received().equals(late)).toBe(true);
    await waitUntil("the tunnel to be over", () => fixture.server.board.establishedTunnels === 0);
  });
});

describe("who speaks first", () => {
  test("an endpoint that does: the 200 line still comes before it, nothing is lost", async () => {
    const fixture = keep(await openFixture());
    const banner = keep(await startBanner("220 ready\r\n"));
    for (let round = 0; round < 20; round++) {
      const socket = await tunnelTo(fixture, banner.address);
      expect((await readExactly(socket, 11)).toString()).toBe("220 ready\r\n");
      socket.destroy();
    }
  });

  test("bytes right behind the CONNECT head reach the endpoint in order", async () => {
    const fixture = keep(await openFixture());
    const echo = keep(await startEcho());
    const socket = await connectCaller(fixture);
    const early = payload("early", 200_000);
    socket.write(Buffer.concat([Buffer.from(`CONNECT ${echo.address} HTTP/1.1\r\n\r\n`), early]));
    socket.write("and the rest");
    expect(await readHead(socket)).toBe("HTTP/1.1 200 Connection Established\r\n\r\n");
    const back = await readExactly(socket, early.length + 12);
    expect(back.equals(Buffer.concat([early, Buffer.from("and the rest")]))).toBe(true);
    socket.destroy();
  });
});

describe("requests that are none", () => {
  test("another method: 405, and the connection can still be used", async () => {
    const fixture = keep(await openFixture());
    const echo = keep(await startEcho());
    const socket = await connectCaller(fixture);
    socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    const head = await readHead(socket);
    expect(head).toMatch(/^HTTP\/1\.1 405 Method Not Allowed\r\n/);
    expect(head).toContain("Content-Length: 45\r\n");
    expect((await readExactly(socket, 45)).toString()).toBe("this proxy only supports CONNECT passthrough\n");
    socket.write(`CONNECT ${echo.address} HTTP/1.1\r\n\r\n`);
    expect(await readHead(socket)).toMatch(/^HTTP\/1\.1 200 /);
    socket.destroy();
  });

  test("a caller that asks again and again without reading the answers is held back", async () => {
    const fixture = keep(await openFixture());
    const socket = await connectCaller(fixture);
    opened.push({ close: () => socket.destroy() });
    socket.pause();
    const requests = Buffer.from("GET / HTTP/1.1\r\n\r\n".repeat(3_000));
    const taken = (): Promise<boolean> =>
      Promise.race([
        new Promise<boolean>((resolve) => socket.write(requests, (error) => resolve(!error))),
        new Promise<boolean>((resolve) => setTimeout(() => resolve(false), 1_000)),
      ]);
    let accepted = 0;
    while (accepted < 8 * 1024 * 1024 && (await taken())) accepted += requests.length;
    // Eight megabytes of requests would be a hundred of answers that nobody reads.
    expect(accepted).toBeLessThan(8 * 1024 * 1024);
  });

  test.each([
    "nonsense\r\n\r\n",
    "CONNECT a:1 HTTP/2.0\r\n\r\n",
    "CONNECT a:1 HTTP/1.1\r\nbad header\r\n\r\n",
    "\x16\x03\x01\x02\n\n",
  ])("%j: 400 and the end", async (text) => {
    const fixture = keep(await openFixture({ agents: 0 }));
    const socket = await connectCaller(fixture);
    socket.write(text);
    const { bytes } = await readToEnd(socket);
    expect(bytes.toString()).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
  });

  test("no agent: 500 with upstream's text", async () => {
    const fixture = keep(await openFixture({ agents: 0 }));
    const socket = await connectCaller(fixture);
    socket.write("CONNECT a:1 HTTP/1.1\r\n\r\n");
    const { bytes } = await readToEnd(socket);
    expect(bytes.toString()).toMatch(
      /^HTTP\/1\.1 500 Internal Server Error\r\nContent-Type: text\/plain\r\n\r\ncurrently no tunnels available: No agent available/,
    );
  });
});

describe("ends in the middle of a dial", () => {
  test("the caller hangs up: the agent stops dialling", async () => {
    const fixture = keep(await openFixture());
    const hole: BlackHole = keep(await startBlackHole());
    const ended: string[] = [];
    const unsubscribe = agentDialEnded.subscribe(({ outcome }) => ended.push(outcome), fixture.agent);
    const socket = await connectCaller(fixture);
    socket.write(`CONNECT ${hole.address} HTTP/1.1\r\n\r\n`);
    await waitUntil("the dial to reach the agent", () => !fixture.agent.idle);
    socket.destroy();
    await waitUntil("the agent to be idle", () => fixture.agent.idle);
    unsubscribe();
    expect(fixture.server.board.pendingDials).toBe(0);
    expect(ended).toEqual(["cancelled"]);
  });

  test("the only agent goes: 502 at once", async () => {
    const fixture = keep(await openFixture({ agents: 0 }));
    const agent = keep(rawAgent(fixture));
    await agent.headers;
    const socket = await connectCaller(fixture);
    socket.write("CONNECT a:1 HTTP/1.1\r\n\r\n");
    await waitUntil("the dial", () => agent.packets.some(({ type }) => type === "DIAL_REQ"));
    agent.close();
    const { bytes } = await readToEnd(socket);
    expect(bytes.toString()).toMatch(/^HTTP\/1\.1 502 Bad Gateway\r\n.*Backend context error: context canceled\r\n$/s);
  });

  test("one of two agents goes: the dial is made by the other", async () => {
    const fixture = keep(await openFixture({ agents: 0 }));
    const echo = keep(await startEcho());
    const dying = keep(rawAgent(fixture));
    await dying.headers;
    const socket = await connectCaller(fixture);
    socket.write(`CONNECT ${echo.address} HTTP/1.1\r\n\r\n`);
    await waitUntil("the dial", () => dying.packets.some(({ type }) => type === "DIAL_REQ"));
    await fixture.addAgent();
    dying.close();
    expect(await readHead(socket)).toMatch(/^HTTP\/1\.1 200 /);
    socket.destroy();
  });
});

describe("certificates", () => {
  test("replaced on disk: streams go on, new connections see the new one", async () => {
    const fixture = keep(await openFixture());
    const echo = keep(await startEcho());
    const before = await tunnelTo(fixture, echo.address, connectCallerTls);
    await fixture.pki.rotateServer("fixture-server-two");
    fixture.server.checkFiles();
    const after = (await tunnelTo(fixture, echo.address, connectCallerTls)) as TLSSocket;
    expect(after.getPeerCertificate().subject.CN).toBe("fixture-server-two");
    const agentSide = connectTls({
      host: "127.0.0.1",
      port: fixture.agentPort,
      ALPNProtocols: ["h2"],
      ...fixture.pki.clientTls,
    });
    await new Promise((resolve) => agentSide.once("secureConnect", resolve));
    expect([agentSide.getPeerCertificate().subject.CN, agentSide.alpnProtocol]).toEqual(["fixture-server-two", "h2"]);
    agentSide.destroy();
    for (const socket of [before, after]) {
      socket.write("still here");
      expect((await readExactly(socket, 10)).toString()).toBe("still here");
      socket.destroy();
    }
    // An agent that comes only now trusts the new one as well.
    await fixture.addAgent();
  });

  test("a caller without a certificate is told so, and its request is not answered", async () => {
    const fixture = keep(await openFixture({ agents: 0 }));
    const socket = connectTls({ host: "127.0.0.1", port: fixture.connectPort, ca: fixture.pki.clientTls.ca });
    socket.on("error", () => {});
    socket.write("CONNECT a:1 HTTP/1.1\r\n\r\n");
    const { bytes } = await readToEnd(socket);
    expect(String(bytes)).toMatch(/^HTTP\/1\.1 403 .*refused the connection: it showed no certificate/s);
  });
});

test("a server that would admit any agent is not even made", async () => {
  const { config } = keep(await openFixture({ agents: 0 })).server;
  const open = { ...config.agents, tls: { ...config.agents.tls, clientCaFile: "" } };
  expect(() => new ProxyServer({ ...config, agents: open })).toThrow("no flag asks for that");
  expect(() => new ProxyServer({ ...config, agents: { ...open, allowUnauthenticated: true } })).not.toThrow();
});

describe("the socket file", () => {
  test("is 0770 from the start", async () => {
    const fixture = keep(await openFixture({ agents: 0 }));
    expect(statSync(fixture.connectPath).mode & 0o7777).toBe(0o770);
    expect(statSync(fixture.grpcPath).mode & 0o7777).toBe(0o770);
  });

  test("one that a dead process left behind does not stop the next", async () => {
    const { dir, config } = await plan();
    const left = createServer();
    await new Promise<void>((resolve) => left.listen(join(dir, "connect.sock"), resolve));
    const fixture = new ProxyServer(config(true));
    await fixture.start();
    opened.push({ close: () => fixture.destroy() }, { close: () => left.close() });
    const socket = connect(join(dir, "connect.sock"));
    await new Promise((resolve) => socket.once("connect", resolve));
    socket.write("nonsense\r\n\r\n");
    expect((await readToEnd(socket)).bytes.toString()).toContain("400 Bad Request");
  });

  test("one in use is not taken away when that was not asked for", async () => {
    const { dir, config } = await plan();
    const left = createServer();
    await new Promise<void>((resolve) => left.listen(join(dir, "connect.sock"), resolve));
    opened.push({ close: () => left.close() });
    await expect(new ProxyServer(config(false)).start()).rejects.toMatchObject({ code: expect.stringMatching(/^DB_/) });
  });

  test("a file at the socket's path that is not a socket is kept, although upstream would delete it", async () => {
    const { dir, config } = await plan();
    writeFileSync(join(dir, "connect.sock"), "somebody's notes");
    await expect(new ProxyServer(config(true)).start()).rejects.toMatchObject({ code: "DB_UDS_NOT_SOCKET" });
    expect(readFileSync(join(dir, "connect.sock"), "utf8")).toBe("somebody's notes");
  });

  test("a path the kernel would cut short is refused with a sentence", async () => {
    const { config } = await plan();
    const server = new ProxyServer(config(true, `/tmp/${"x".repeat(120)}`));
    await expect(server.start()).rejects.toMatchObject({ code: "DB_UDS_PATH_TOO_LONG" });
  });
});

/** A server with one Unix frontend only, not started. */
async function plan(): Promise<{ dir: string; config: (deleteExisting: boolean, path?: string) => ServerConfig }> {
  const dir = mkdtempSync(join(tmpdir(), "drawbridge-frontend-"));
  opened.push({ close: () => rmSync(dir, { recursive: true, force: true }) });
  const pki = await makeFixturePki(dir);
  const port = await freePort();
  const template = keep(await openFixture({ agents: 0 })).server.config;
  return {
    dir,
    config: (deleteExisting, path = join(dir, "connect.sock")) => ({
      ...template,
      agents: { ...template.agents, port, tls: { ...pki.server, clientCaFile: pki.caFile } },
      listeners: [{ mode: "http-connect", transport: "uds", path, deleteExisting, fileMode: 0o770 }],
    }),
  };
}
