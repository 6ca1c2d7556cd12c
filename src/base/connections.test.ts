import { once } from "node:events";
import http from "node:http";
import https from "node:https";
import net, { type AddressInfo, type Server, type Socket } from "node:net";
import tls from "node:tls";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { createAuthority, issueCertificate } from "../tunnel/pki/issue.js";
import {
  type ClosedConnection,
  Connections,
  connectionOf,
  type Descriptors,
  type ListenerLimits,
} from "./connections.js";
import { listenOn } from "./listen.js";
import { eventually } from "./testing/eventually.js";
import { ManualClock } from "./testing/manual-clock.js";

let certificate: { cert: string; key: string; ca: string };
const endings: (() => void)[] = [];

beforeAll(async () => {
  const authority = await createAuthority({ commonName: "ca" });
  const { certificatePem, privateKeyPem } = await issueCertificate(authority, {
    use: "server",
    commonName: "here",
    ipAddresses: ["127.0.0.1"],
  });
  certificate = { cert: certificatePem, key: privateKeyPem, ca: authority.certificatePem };
});

afterEach(() => {
  for (const end of endings.splice(0)) end();
});

interface Peer {
  readonly socket: Socket;
  closed: boolean;
}

/** One process's connections, with a clock that a test moves. */
class Stage {
  readonly clock = new ManualClock();
  readonly closed: ClosedConnection[] = [];
  readonly accepted: Socket[] = [];
  readonly connections: Connections;

  constructor(descriptors: Descriptors = { limit: Number.POSITIVE_INFINITY, count: () => undefined }) {
    this.connections = new Connections({ clock: this.clock, descriptors });
    this.connections.subscribe((closed) => this.closed.push(closed));
  }

  async listen(server: Server, name: string, limits: ListenerLimits): Promise<number> {
    server.on("connection", (socket) => {
      this.accepted.push(socket);
      endings.push(() => socket.destroy());
    });
    server.on("tlsClientError", () => {});
    endings.push(() => server.close());
    await listenOn(server, name, { host: "127.0.0.1", port: 0 }, limits, this.connections);
    return (server.address() as AddressInfo).port;
  }

  /** Resolves when the server has it. */
  async connect(port: number): Promise<Peer> {
    const count = this.accepted.length;
    const socket = net.connect(port, "127.0.0.1");
    const peer = { socket, closed: false };
    socket.on("error", () => {});
    socket.on("close", () => {
      peer.closed = true;
    });
    socket.resume();
    endings.push(() => socket.destroy());
    await eventually(() => expect(this.accepted.length).toBe(count + 1));
    return peer;
  }

  /** As a process that is not busy sees it pass. */
  pass(ms: number): void {
    for (let passed = 0; passed < ms; passed += 500) this.clock.advance(500);
  }
}

describe("a handshake", () => {
  test("that does not end is closed after its deadline, with its socket", async () => {
    const stage = new Stage();
    const port = await stage.listen(tls.createServer(certificate), "agent", {});
    const peer = await stage.connect(port);
    stage.pass(9_500);
    expect(stage.accepted[0]?.destroyed).toBe(false);
    stage.pass(1_500);
    expect(stage.accepted[0]?.destroyed).toBe(true);
    await eventually(() => expect(peer.closed).toBe(true));
    const remote = expect.stringMatching(/^127\.0\.0\.1:\d+$/);
    expect(stage.closed).toEqual([{ listener: "agent", remote, reason: "handshake-timeout" }]);
  });

  test("is not late because this process was too busy to work on it", async () => {
    const stage = new Stage();
    const port = await stage.listen(tls.createServer(certificate), "agent", {});
    await stage.connect(port);
    // Three turns of the event loop, each of which took a minute.
    for (let turn = 0; turn < 3; turn++) {
      stage.clock.sleep(60_000);
      stage.clock.advance(0);
    }
    expect(stage.closed).toEqual([]);
  });

  test("that has ended leaves a minute for the request, with a certificate and without", async () => {
    for (const isVerified of [true, false]) {
      const stage = new Stage();
      const server = tls.createServer(certificate, (socket) => {
        if (isVerified) connectionOf(socket)?.verified();
      });
      const port = await stage.listen(server, "agent", {});
      const secure = once(server, "secureConnection");
      tls.connect({ port, host: "127.0.0.1", ca: certificate.ca }).on("error", () => {});
      await secure;
      stage.pass(59_000);
      expect(stage.closed).toEqual([]);
      stage.pass(3_000);
      expect(stage.closed).toMatchObject([{ reason: "request-timeout" }]);
    }
  });

  test("of a connection that asked for something in time never is late", async () => {
    const stage = new Stage();
    const server = tls.createServer(certificate, (socket) => connectionOf(socket)?.admitted());
    const port = await stage.listen(server, "agent", {});
    const secure = once(server, "secureConnection");
    tls.connect({ port, host: "127.0.0.1", ca: certificate.ca }).on("error", () => {});
    await secure;
    stage.pass(200_000);
    expect(stage.closed).toEqual([]);
    expect(stage.connections.readings()).toEqual([{ name: "agent", open: 1, pending: 0, closed: {} }]);
  });
});

describe("pending connections", () => {
  test("are closed for new ones, the oldest first, when a listener has too many", async () => {
    const stage = new Stage();
    const port = await stage.listen(net.createServer(), "agent", { maxPending: 2 });
    const peers = [await stage.connect(port), await stage.connect(port), await stage.connect(port)];
    await eventually(() => expect(peers.map(({ closed }) => closed)).toEqual([true, false, false]));
    expect(stage.closed).toMatchObject([{ reason: "pending-limit" }]);
    expect(stage.connections.full).toMatch(/agent listener has as many unfinished connections as it may have/);
    stage.pass(11_000);
    expect(stage.connections.full).toBeUndefined();
  });

  test("are not closed for new ones once their peers are known", async () => {
    const stage = new Stage();
    const port = await stage.listen(net.createServer(), "agent", { maxPending: 1 });
    const first = await stage.connect(port);
    connectionOf(stage.accepted[0]!)!.admitted();
    const second = await stage.connect(port);
    await stage.connect(port);
    await eventually(() => expect(second.closed).toBe(true));
    expect(first.closed).toBe(false);
  });

  test("of all listeners together are at most twice those of one, and the oldest of them goes", async () => {
    const stage = new Stage();
    const ports: number[] = [];
    for (const name of ["a", "b", "c"]) ports.push(await stage.listen(net.createServer(), name, { maxPending: 2 }));
    const peers: Peer[] = [];
    for (const port of [0, 1, 1, 2, 2].map((at) => ports[at]!)) {
      stage.clock.advance(1);
      peers.push(await stage.connect(port));
    }
    await eventually(() => expect(peers.map(({ closed }) => closed)).toEqual([true, false, false, false, false]));
  });
});

describe("when descriptors run out", () => {
  /** 32 of 256 are kept back, 50 are used by something else. */
  const scarce = (stage: () => Stage): Descriptors => ({ limit: 256, count: () => 50 + stage().connections.held });

  test("the oldest pending connection is closed, and health is still served", async () => {
    const stage: Stage = new Stage(scarce(() => stage));
    const port = await stage.listen(net.createServer(), "agent", {});
    const health = await stage.listen(net.createServer(), "health", { isEssential: true });
    const peers: Peer[] = [];
    for (let each = 0; each < 180; each++) peers.push(await stage.connect(port));
    await eventually(() => expect(peers.filter(({ closed }) => closed)).toHaveLength(6));
    expect(peers.findIndex(({ closed }) => !closed)).toBe(6);
    expect(new Set(stage.closed.map(({ reason }) => reason))).toEqual(new Set(["descriptor-limit"]));
    expect(stage.connections.full).toBe("the process is about to reach its limit of 256 open files");
    for (let each = 0; each < 20; each++) await stage.connect(health);
    expect(stage.connections.readings()[1]).toMatchObject({ name: "health", open: 20 });
  });

  test("a newcomer is closed at once when everybody else is at work", async () => {
    const stage: Stage = new Stage(scarce(() => stage));
    const port = await stage.listen(net.createServer(), "agent", {});
    for (let each = 0; each < 174; each++) {
      await stage.connect(port);
      connectionOf(stage.accepted.at(-1)!)!.admitted();
    }
    const late = await stage.connect(port);
    await eventually(() => expect(late.closed).toBe(true));
    expect(stage.closed).toHaveLength(1);
  });
});

describe("connections of an HTTP server", () => {
  test("are closed for new ones between two requests, not during one", async () => {
    const stage = new Stage();
    const answers: http.ServerResponse[] = [];
    const server = http.createServer((_request, response) => answers.push(response));
    const port = await stage.listen(server, "health", { isEssential: true, maxConnections: 2 });
    const ask = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    const busy = await stage.connect(port);
    busy.socket.write(ask);
    await eventually(() => expect(answers).toHaveLength(1));
    const idle = await stage.connect(port);
    idle.socket.write(ask);
    await eventually(() => expect(answers).toHaveLength(2));
    answers[1]!.end("ok");
    await once(idle.socket, "data");
    const third = await stage.connect(port);
    await eventually(() => expect(idle.closed).toBe(true));
    expect([busy.closed, third.closed]).toEqual([false, false]);
    // Whoever asks last is answered, even if nobody else has taken his answer.
    third.socket.write(ask);
    await eventually(() => expect(answers).toHaveLength(3));
    const last = await stage.connect(port);
    await eventually(() => expect(busy.closed).toBe(true));
    expect([third.closed, last.closed]).toEqual([false, false]);
  });
});

test.each(["http", "https"])(
  "an %s connection is forgotten that is gone before its request was answered",
  async (scheme) => {
    const stage = new Stage();
    let asked = 0;
    const onRequest = (): void => {
      asked++;
    };
    const server = scheme === "http" ? http.createServer(onRequest) : https.createServer(certificate, onRequest);
    const port = await stage.listen(server, "admin", { isEssential: true });
    const client = (scheme === "http" ? http : https).get({
      port,
      host: "127.0.0.1",
      ca: certificate.ca,
      agent: false,
    });
    client.on("error", () => {});
    await eventually(() => expect(asked).toBe(1));
    client.destroy();
    await eventually(() => expect(stage.connections.readings()).toMatchObject([{ open: 0, pending: 0 }]));
  },
);

test("the remote address of a connection is known after the connection is gone", async () => {
  const stage = new Stage();
  const port = await stage.listen(tls.createServer(certificate), "agent", {});
  const { socket } = await stage.connect(port);
  const from = `127.0.0.1:${socket.localPort}`;
  socket.resetAndDestroy();
  await eventually(() => expect(stage.accepted[0]?.destroyed).toBe(true));
  expect(connectionOf(stage.accepted[0]!)?.remote).toBe(from);
});
