/** Peers that come to a listener which is not for them: each is named as what it is, with where it belongs. */
import http2 from "node:http2";
import { connect } from "node:net";
import tls from "node:tls";
import { afterAll, beforeAll, expect, test } from "vitest";
import { peerRefused } from "../../src/tunnel/events/channels.js";
import type { RefusedPeer } from "../../src/tunnel/events/facts.js";
import { waitUntil } from "../support/processes/deadline.js";
import { type Fixture, openFixture } from "./fixture/fixture.js";

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
});
afterAll(() => fixture.close());

const CONNECT = "CONNECT 10.0.0.1:443 HTTP/1.1\r\nHost: 10.0.0.1:443\r\n\r\n";

/** Makes a call that this listener does not serve, or says what it does not speak. */
const visits: readonly [what: string, visit: () => { destroy(): unknown }, listener: string, reason: RegExp][] = [
  [
    "a caller at the agents' port",
    () => {
      const { clientTls } = fixture.pki;
      const port = { host: "127.0.0.1", port: fixture.agentPort, ALPNProtocols: ["h2"] };
      const socket = tls.connect({ ...port, ...clientTls });
      return call("https://localhost", "/ProxyService/Proxy", socket);
    },
    "agents",
    /^it is a gRPC caller, and callers connect to a frontend, not to the agents' port$/,
  ],
  [
    "an agent at a gRPC frontend",
    () => call("http://localhost", "/AgentService/Connect", connect(fixture.grpcPath)),
    "grpc frontend",
    /^it is an agent, and agents connect to .*, not to a frontend$/,
  ],
  [
    "a caller of some other method",
    () => call("http://localhost", "/grpc.health.v1.Health/Check", connect(fixture.grpcPath)),
    "grpc frontend",
    /^it called "\/grpc\.health\.v1\.Health\/Check", and only \/ProxyService\/Proxy is served here$/,
  ],
  [
    "gRPC at a CONNECT socket",
    () => call("http://localhost", "/ProxyService/Proxy", connect(fixture.connectPath)),
    "http-connect frontend",
    /^it speaks HTTP\/2, as gRPC callers and agents do, and this frontend takes HTTP CONNECT$/,
  ],
  [
    "TLS at a CONNECT socket",
    () => tls.connect({ path: fixture.connectPath }).on("error", () => {}),
    "http-connect frontend",
    /^it speaks TLS, and this frontend is in the clear$/,
  ],
  [
    "TLS at a gRPC socket",
    () => tls.connect({ path: fixture.grpcPath, ALPNProtocols: ["h2"] }).on("error", () => {}),
    "grpc frontend",
    /^it speaks TLS, and this frontend is in the clear$/,
  ],
  [
    "TLS inside TLS at the agents' port",
    () => {
      const port = { host: "127.0.0.1", port: fixture.agentPort, ALPNProtocols: ["h2"] };
      const socket = tls.connect({ ...port, ...fixture.pki.clientTls }).on("error", () => {});
      return tls.connect({ socket, ALPNProtocols: ["h2"] }).on("error", () => {});
    },
    "agents",
    /^it speaks TLS inside TLS: .* one is expected here$/,
  ],
  [
    "CONNECT at a gRPC socket",
    () => {
      const socket = connect(fixture.grpcPath).on("error", () => {});
      socket.write(CONNECT);
      return socket;
    },
    "grpc frontend",
    /^it asked by HTTP CONNECT, and gRPC is spoken here; callers that use HTTP CONNECT need an http-connect frontend$/,
  ],
  [
    "CONNECT at the agents' port",
    () => {
      const port = { host: "127.0.0.1", port: fixture.agentPort };
      const socket = tls.connect({ ...port, ...fixture.pki.clientTls }).on("error", () => {});
      socket.write(CONNECT);
      return socket;
    },
    "agents",
    /^it did not ask for HTTP\/2: it offered no protocol by ALPN/,
  ],
  [
    "something else at a gRPC socket",
    () => {
      const socket = connect(fixture.grpcPath).on("error", () => {});
      socket.write("SSH-2.0-OpenSSH_9.6\r\n");
      return socket;
    },
    "grpc frontend",
    /^it does not speak HTTP\/2, as gRPC does$/,
  ],
];

test.each(visits)("%s is named, with where it belongs", async (_what, visit, listener, reason) => {
  const refused: RefusedPeer[] = [];
  const end = peerRefused.subscribe((peer) => refused.push(peer));
  const peer = visit();
  try {
    await waitUntil("the peer to be refused", () => refused.length > 0);
    expect(refused).toEqual([
      expect.objectContaining({ listener, code: "DB_PEER_WRONG_PORT", reason: expect.stringMatching(reason) }),
    ]);
  } finally {
    end();
    peer.destroy();
  }
});

function call(url: string, path: string, socket: ReturnType<typeof connect>) {
  const session = http2.connect(url, { createConnection: () => socket }).on("error", () => {});
  const headers = { ":method": "POST", ":path": path, "content-type": "application/grpc", te: "trailers" };
  session.request(headers).on("error", () => {});
  return session;
}
