/** Certificates that end, and peers that come without the right one. */
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { copyFileSync, mkdtempSync, readFileSync } from "node:fs";
import http2 from "node:http2";
import { join } from "node:path";
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from "node:tls";
import { afterEach, expect, test, vi } from "vitest";
import {
  agentServerConnectFailed,
  agentServerDisconnected,
  noteChannel,
  peerRefused,
} from "../../src/tunnel/events/channels.js";
import { waitUntil } from "../support/processes/deadline.js";
import { connectCallerTls } from "./fixture/connect.js";
import { type Fixture, type FixturePlan, openFixture } from "./fixture/fixture.js";
import { type RawPeer, rawAgent } from "./fixture/grpc.js";
import { makeFixturePki } from "./fixture/pki.js";

const endings: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

async function open(plan: FixturePlan = {}): Promise<Fixture> {
  const fixture = await openFixture({ agents: 0, ...plan });
  endings.push(() => fixture.close());
  return fixture;
}

function texts<Event extends object>(
  channel: { subscribe(listener: (event: Event) => void): () => void },
  text: (event: Event) => string,
): string[] {
  const heard: string[] = [];
  endings.push(channel.subscribe((event) => heard.push(text(event))));
  return heard;
}

/** Enough to connect with on a busy machine; a certificate's end is cut to whole seconds. */
const LIFE_MS = 6_000;
vi.setConfig({ testTimeout: 60_000 });

test("a time-boxed agent ends its streams with its certificate, waits, and goes on with a new one", async () => {
  const fixture = await open();
  const notes = texts(noteChannel, ({ message }) => message);
  const files = await fixture.pki.issueClient("brief", LIFE_MS);
  const agent = await fixture.addAgent({ timeBoxed: true, tls: { caFile: fixture.pki.caFile, ...files, alpn: [] } });
  await waitUntil("the stream to end", () => fixture.server.board.registry.size === 0);
  await waitUntil("the agent to wait for a certificate", () => agent.unreadyReason !== undefined);
  expect(agent.ready).toBe(false);
  expect(agent.unreadyReason).toMatch(/^this agent's certificate ended at \S+; it waits until \S+ holds a new one$/);
  expect(notes.filter((text) => text.includes("it waits until"))).toHaveLength(1);
  await fixture.pki.issueClient("brief", 60_000);
  await waitUntil("the agent to be back", () => agent.ready);
  expect(agent.unreadyReason).toBeUndefined();
});

test("a time-boxed server ends the stream of an agent that would stay, and says why", async () => {
  const fixture = await open({ timeBoxed: true });
  const reasons = texts(agentServerDisconnected, ({ reason }) => reason);
  const files = await fixture.pki.issueClient("brief", LIFE_MS);
  await fixture.addAgent({ tls: { caFile: fixture.pki.caFile, ...files, alpn: [] } });
  await waitUntil("the stream to end", () => reasons.length > 0);
  expect(reasons[0]).toContain("the agent's certificate has ended");
});

test.each([
  [
    "no certificate",
    () => ({ certFile: "", keyFile: "" }),
    /refused this agent \(it says "it showed no certificate: .*"\): .* this agent was given none/,
    /^it showed no certificate: /,
  ],
  [
    "a stranger's certificate",
    async (fixture: Fixture) => (await makeFixturePki(mkdtempSync(join(fixture.dir, "other-")))).client,
    /refused this agent \(it says "its certificate was signed by another key .*is valid by itself/,
    /^its certificate was signed by another key than that of the CA "/,
  ],
] as const)("with %s both sides say what is wrong", async (_what, filesFor, agentSays, serverSays) => {
  const fixture = await open();
  const heardByAgent = texts(agentServerConnectFailed, ({ error }) => error);
  const heardByServer = texts(peerRefused, ({ reason }) => reason);
  const remotes = texts(peerRefused, ({ remote }) => remote);
  fixture.launchAgent({ tls: { caFile: fixture.pki.caFile, ...(await filesFor(fixture)), alpn: [] } });
  await waitUntil("both to complain", () => heardByAgent.length > 0 && heardByServer.length > 0);
  expect(heardByAgent[0]).toMatch(agentSays);
  expect(heardByServer[0]).toMatch(serverSays);
  expect(remotes[0]).toMatch(/^127\.0\.0\.1:\d+$/);
});

test("a certificate that has ended is not let in by a TLS session from before, at any listener and version", async () => {
  const fixture = await open();
  const files = await fixture.pki.issueClient("brief", LIFE_MS);
  const cert = readFileSync(files.certFile, "utf8");
  const common = { host: "127.0.0.1", ca: fixture.pki.clientTls.ca, cert, key: readFileSync(files.keyFile) };
  const visits = [fixture.agentPort, fixture.connectPort].flatMap((port) =>
    (["TLSv1.2", "TLSv1.3"] as const).map((version) => ({
      options: {
        ...{ ...common, port, minVersion: version, maxVersion: version },
        ALPNProtocols: [port === fixture.agentPort ? "h2" : "http/1.1"],
      },
      sessions: [] as Buffer[],
    })),
  );
  for (const { options, sessions } of visits) {
    const socket = connectTls(options);
    endings.push(() => socket.destroy());
    socket.on("session", (session) => sessions.push(session));
    socket.once("secureConnect", () => ask(socket));
    // Sessions come before the first answer, whatever that is.
    await once(socket, "data");
  }
  await waitUntil("the certificate to end", () => Date.now() > Date.parse(new X509Certificate(cert).validTo) + 1_000);
  for (const { options, sessions } of visits) {
    for (const session of [undefined, ...sessions]) {
      expect(await firstWords({ ...options, ...(session && { session }) })).toMatch(
        /its certificate expired on \d{4}-/,
      );
    }
  }
});

/** With HTTP/2 the server is the first to speak. */
function ask(socket: TLSSocket): void {
  if (socket.alpnProtocol === "http/1.1") socket.write("GET / HTTP/1.1\r\n\r\n");
}

/** The first thing that the server says to whoever connects like this: its settings, an answer, or why it will not serve. */
function firstWords(options: ConnectionOptions): Promise<string> {
  const socket = connectTls(options);
  endings.push(() => socket.destroy());
  socket.on("error", () => {});
  socket.once("secureConnect", () => ask(socket));
  return new Promise((resolve) => {
    socket.once("data", (chunk) => resolve(String(chunk)));
    socket.once("close", () => resolve(""));
  });
}

test("a call on a connection from before is refused when its certificate has ended; older calls go on", async () => {
  const fixture = await open();
  const files = await fixture.pki.issueClient("brief", LIFE_MS);
  const cert = readFileSync(files.certFile, "utf8");
  const peer = rawAgent(fixture, { agentid: "brief" }, { cert, key: readFileSync(files.keyFile, "utf8") });
  // Node's client does not come back from destroy() once it was told to go away.
  endings.push(() => peer.socket.destroy());
  await peer.headers;
  await waitUntil("the certificate to end", () => Date.now() > Date.parse(new X509Certificate(cert).validTo) + 1_000);
  await refusesNewCalls(fixture, peer, /^its certificate ended on /);
});

test("a call on a connection from before a change of the CA is refused; older calls go on", async () => {
  const fixture = await open();
  const peer = rawAgent(fixture);
  // Node's client does not come back from destroy() once it was told to go away.
  endings.push(() => peer.socket.destroy());
  await peer.headers;
  const other = await makeFixturePki(mkdtempSync(join(fixture.dir, "other-")));
  copyFileSync(other.caFile, fixture.pki.caFile);
  fixture.server.checkFiles();
  await refusesNewCalls(fixture, peer, /^the CA bundle was replaced after this connection was opened$/);
});

test("a CONNECT on a connection from before a change of the CA is not served", async () => {
  const fixture = await open();
  const socket = await connectCallerTls(fixture);
  endings.push(() => socket.destroy());
  const other = await makeFixturePki(mkdtempSync(join(fixture.dir, "other-")));
  copyFileSync(other.caFile, fixture.pki.caFile);
  fixture.server.checkFiles();
  let heard = "";
  socket.on("data", (chunk) => {
    heard += String(chunk);
  });
  const ended = once(socket, "end");
  socket.write("CONNECT 127.0.0.1:1 HTTP/1.1\r\n\r\n");
  await ended;
  expect(heard).toMatch(
    /^HTTP\/1\.1 403 .*\r\n\r\n.*the CA bundle was replaced after this connection was opened\.\n$/s,
  );
});

async function refusesNewCalls(fixture: Fixture, peer: RawPeer, reason: RegExp): Promise<void> {
  const heard = texts(peerRefused, ({ reason }) => reason);
  const again = peer.session.request({ ":method": "POST", ":path": "/AgentService/Connect", agentid: "again" });
  again.on("error", () => {});
  await new Promise((resolve) => again.once("close", resolve));
  expect(again.rstCode).toBe(http2.constants.NGHTTP2_REFUSED_STREAM);
  expect(heard).toEqual([expect.stringMatching(reason)]);
  expect(peer.ended()).toBeUndefined();
  expect(fixture.server.board.registry.size).toBe(1);
}
