/** Servers that leave, and servers that never answer, as an agent meets them. */
import type { AddressInfo } from "node:net";
import { createServer } from "node:tls";
import { afterEach, expect, test } from "vitest";
import { ProxyAgent } from "../../src/tunnel/agent/agent.js";
import { agentServerConnectFailed } from "../../src/tunnel/events/channels.js";
import { acceptCall, createGrpcListener, type IncomingCall } from "../../src/tunnel/link/listener.js";
import { SegmentCounters } from "../../src/tunnel/link/packet-meter.js";
import { PacketStream } from "../../src/tunnel/link/packet-stream.js";
import { readCertificateSet } from "../../src/tunnel/pki/certificate-set.js";
import { encodePacket } from "../../src/tunnel/wire/encode.js";
import type { ConnectId, ControlPacket } from "../../src/tunnel/wire/packet.js";
import { waitUntil } from "../support/processes/deadline.js";
import { startEcho } from "../support/targets/echo.js";
import { type Fixture, openFixture } from "./fixture/fixture.js";
import { END_HEADERS, FrameType, fields, frame } from "./fixture/frames.js";

const endings: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

/** An agent of the fixture that is sent to a server which does with its call what the test says. */
async function agentAt(onCall: (call: IncomingCall) => void, headerTimeoutMs = 5_000) {
  const fixture: Fixture = await openFixture();
  endings.push(() => fixture.close());
  const { certFile, keyFile } = fixture.pki.server;
  const listener = createGrpcListener({
    method: "/AgentService/Connect",
    misdirectedMethods: {},
    onRefused() {},
    tls: readCertificateSet({ certFile, keyFile, caFile: fixture.pki.caFile }),
    keepaliveMs: 60_000,
    streamWindowBytes: 65_535,
    maxStreams: 100,
    onCall,
  });
  await new Promise<void>((resolve) => listener.server.listen(0, "127.0.0.1", resolve));
  endings.push(() => listener.destroy());
  const { port } = listener.server.address() as AddressInfo;
  const agent = new ProxyAgent({ ...fixture.agent.config, headerTimeoutMs, servers: [{ host: "127.0.0.1", port }] });
  endings.push(() => agent.stop());
  return { agent, listener };
}

test("an agent lets the tunnels of a server that says goodbye finish, and no longer counts it", async () => {
  const echo = await startEcho();
  endings.push(() => echo.close());
  const answers: ControlPacket[] = [];
  let heard = "";
  let stream: PacketStream | undefined;
  const { agent, listener } = await agentAt((call) => {
    acceptCall(call.stream, { serverid: "leaving", servercount: "1" });
    const owner = {
      onControl: (packet: ControlPacket) => void answers.push(packet),
      onData: (_id: ConnectId, chunk: Buffer) => {
        heard += String(chunk);
      },
      onSettle() {},
      onDrain() {},
      onEmpty() {},
      onRemoteEnd() {},
      onClosed() {},
    };
    stream = new PacketStream(call.stream, owner, { received: new SegmentCounters(), sent: new SegmentCounters() });
  });
  agent.start();
  const servers = (): number => agent.readings().openServerConnections();
  await waitUntil("the agent to be connected", () => servers() === 1);
  stream!.control({ type: "DIAL_REQ", protocol: "tcp", address: echo.address, random: 1n });
  await waitUntil("the dial", () => answers.length === 1);
  listener.drain();
  await waitUntil("the agent to look elsewhere", () => servers() === 0);
  const { connectId } = answers[0] as { connectId: ConnectId };
  stream!.data(connectId, Buffer.from("still here"));
  await waitUntil("the echo", () => heard === "still here");
  expect(agent.readings().openEndpointConnections()).toBe(1);
});

test("an agent answers a dial that arrives in one piece with the server's headers", async () => {
  const fixture: Fixture = await openFixture();
  endings.push(() => fixture.close());
  const { certFile, keyFile } = fixture.pki.server;
  const answers: Buffer[] = [];
  const tls = { ...readCertificateSet({ certFile, keyFile, caFile: fixture.pki.caFile }), ALPNProtocols: ["h2"] };
  const server = createServer(tls, (socket) => {
    socket.on("error", () => {});
    const headers = fields({ ":status": "200", "content-type": "application/grpc", serverid: "s", servercount: "1" });
    const dial = encodePacket({ type: "DIAL_REQ", protocol: "tcp", address: "127.0.0.1:1", random: 9n });
    socket.once("data", () => {
      const accepted = [frame(FrameType.HEADERS, END_HEADERS, 1, headers), frame(FrameType.DATA, 0, 1, dial)];
      socket.write(Buffer.concat([frame(FrameType.SETTINGS, 0, 0), ...accepted]));
      socket.on("data", (chunk: Buffer) => answers.push(chunk));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  endings.push(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const agent = new ProxyAgent({ ...fixture.agent.config, servers: [{ host: "127.0.0.1", port }] });
  endings.push(() => agent.stop());
  agent.start();
  await waitUntil("the answer", () => Buffer.concat(answers).includes("connection refused"));
  expect(agent.readings().openServerConnections()).toBe(1);
});

test("an agent does not wait for a server's headers for ever", async () => {
  const { agent } = await agentAt(() => {}, 100);
  const errors: string[] = [];
  endings.push(agentServerConnectFailed.subscribe(({ error }) => errors.push(error), agent));
  agent.start();
  await waitUntil("two attempts to fail", () => errors.length >= 2);
  expect(errors[0]).toMatch(
    /^the server at 127\.0\.0\.1:\d+ did not answer Connect: no response headers within 100 ms\.$/,
  );
});
