import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { freePort } from "../../../test/support/processes/ports.js";
import { ManualClock } from "../../base/testing/manual-clock.js";
import { Resolver } from "../resolver/resolver.js";
import { type DialFailure, EndpointDial } from "./dialer.js";
import { DestinationPolicy } from "./policy.js";

/** How long something may take on a busy machine. */
const BUSY = { timeout: 10_000 };
const resolver = new Resolver();
const EVERYWHERE = new DestinationPolicy([], []);
let clock: ManualClock;
let server: Server;
let port: number;
const accepted: Socket[] = [];

beforeEach(async () => {
  clock = new ManualClock();
  server = createServer((socket) => accepted.push(socket));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  ({ port } = server.address() as AddressInfo);
});

afterEach(async () => {
  for (const socket of accepted.splice(0)) socket.destroy();
  await new Promise((resolve) => server.close(resolve));
});

interface Outcome {
  socket?: Socket;
  failure?: DialFailure;
}

function dial(address: string, { protocol = "tcp", policy = EVERYWHERE } = {}) {
  const bytes: Buffer[] = [];
  const outcomes: Outcome[] = [];
  let tell: (outcome: Outcome) => void = () => {};
  const outcome = new Promise<Outcome>((resolve) => {
    tell = resolve;
  });
  const report = (each: Outcome): void => {
    outcomes.push(each);
    tell(each);
  };
  const attempt = new EndpointDial(
    protocol,
    address,
    { policy, resolver, runtime: clock },
    {
      onConnected(socket) {
        socket.on("error", () => {});
        report({ socket });
      },
      onFailed: (failure) => report({ failure }),
      onCancelled() {},
      onBytes: (chunk) => bytes.push(Buffer.from(chunk)),
    },
  );
  return { attempt, outcome, outcomes, bytes };
}

describe("an endpoint that answers", () => {
  test("is connected; its bytes arrive through the shared buffer; no timer stays", async () => {
    const { outcome, bytes, attempt } = dial(`127.0.0.1:${port}`);
    const { socket } = await outcome;
    expect(attempt.over).toBe(true);
    await expect.poll(() => accepted.length, BUSY).toBe(1);
    accepted[0]!.write("hello");
    await expect.poll(() => Buffer.concat(bytes).toString(), BUSY).toBe("hello");
    expect(clock.waiting).toEqual([]);
    socket!.destroy();
  });

  test("a name is resolved here", async () => {
    const { socket, failure } = await dial(`localhost:${port}`).outcome;
    expect(failure).toBeUndefined();
    socket!.destroy();
  });

  test("no host means this one, as in Go", async () => {
    const { socket } = await dial(`:${port}`).outcome;
    socket!.destroy();
  });
});

describe("errors in Go's words", () => {
  test("a port on which nobody listens: connection refused", async () => {
    const closed = await freePort();
    const { failure } = await dial(`127.0.0.1:${closed}`).outcome;
    expect(failure).toEqual({ outcome: "failed", error: `dial tcp 127.0.0.1:${closed}: connect: connection refused` });
    expect(clock.waiting).toEqual([]);
  });

  test.each<[string, RegExp]>([
    ["10.0.0.1", /^dial tcp: address 10\.0\.0\.1: missing port in address$/],
    ["fd00::1:80", /^dial tcp: address fd00::1:80: too many colons in address$/],
    ["[fd00::1]", /missing port in address$/],
    ["[fd00::1:80", /missing '\]' in address$/],
    ["127.0.0.1:99999", /unknown port|invalid port/],
    ["127.0.0.1:https!", /unknown port/],
    ["127.0.0.1:-1", /unknown port|invalid port/],
    ["", /^dial tcp: .*missing port/],
    ["no-such-host.invalid:80", /lookup no-such-host\.invalid.*(no such host|i\/o timeout|server misbehaving)/],
    ["a b:80", /lookup a b.*/],
    // A resolver that nobody answers is asked several times before it gives up.
  ])("%j", { timeout: 60_000 }, async (address, text) => {
    const { failure } = await dial(address).outcome;
    expect(failure!.error).toMatch(text);
  });

  test.each(["udp", "unix", "tcp4", "TCP", ""])("protocol %j is refused, without dialling", async (protocol) => {
    const { outcomes } = dial(`127.0.0.1:${port}`, { protocol });
    expect(outcomes).toMatchObject([
      { failure: { outcome: "failed", error: expect.stringContaining("unknown network") } },
    ]);
    expect(clock.waiting).toEqual([]);
  });
});

describe("the deadline of a dial", () => {
  /** A listener whose queue is never emptied would do, but a dial whose connect event was not delivered yet is enough. */
  test("passes after five seconds: the dial fails with i/o timeout and leaves no connection", async () => {
    const { outcome, outcomes } = dial(`127.0.0.1:${port}`);
    clock.advance(5_000);
    const { failure } = await outcome;
    expect(failure).toMatchObject({ outcome: "timeout", error: expect.stringMatching(/^dial tcp.*i\/o timeout$/) });
    await new Promise((resolve) => setTimeout(resolve, 0));
    await expect.poll(() => accepted.every((socket) => socket.destroyed || socket.readableEnded), BUSY).toBe(true);
    expect(outcomes).toHaveLength(1);
  });

  test("does not pass earlier", async () => {
    const { outcome } = dial(`127.0.0.1:${port}`);
    clock.advance(4_999);
    const { socket } = await outcome;
    expect(socket).toBeDefined();
    socket!.destroy();
  });
});

describe("a dial that is cancelled", () => {
  test("reports nothing and leaves no connection", async () => {
    const { attempt, outcomes } = dial(`127.0.0.1:${port}`);
    attempt.cancel();
    const later = dial(`127.0.0.1:${port}`);
    const { socket } = await later.outcome;
    // The kernel hands connections out in their order: when the later one is here, the first one was, if it ever came.
    await expect.poll(() => accepted.some(({ remotePort }) => remotePort === socket!.localPort), BUSY).toBe(true);
    expect(outcomes).toEqual([]);
    socket!.destroy();
    await expect
      .poll(() => new Promise<number>((resolve) => server.getConnections((_error, n) => resolve(n))), BUSY)
      .toBe(0);
  });

  test("dials nothing afterwards when its name was still being looked up", async () => {
    const { attempt, outcomes } = dial(`localhost:${port}`);
    attempt.cancel();
    await dial(`localhost:${port}`).outcome.then(({ socket }) => socket?.destroy());
    expect(outcomes).toEqual([]);
    expect(accepted.length).toBeLessThanOrEqual(1);
  });
});

describe("the policy", () => {
  test("is asked about the resolved address, and the refusal names the rule", async () => {
    const policy = new DestinationPolicy([], ["127.0.0.0/8", "::1"]);
    const { failure } = await dial(`localhost:${port}`, { policy }).outcome;
    expect(failure).toMatchObject({ outcome: "policy", error: expect.stringContaining("--deny") });
    expect(accepted).toHaveLength(0);
  });

  test.each(["169.254.169.254:80", "[::ffff:169.254.169.254]:80", "[::ffff:a9fe:a9fe]:80"])(
    "the metadata address %s is refused without a packet",
    async (address) => {
      const { failure } = await dial(address).outcome;
      expect(failure).toMatchObject({ outcome: "policy", error: expect.stringContaining("metadata") });
    },
  );
});

describe("a policy cannot be walked around by another spelling of loopback", () => {
  const noLoopback = new DestinationPolicy([], ["127.0.0.0/8", "::1"]);
  const onlyServices = new DestinationPolicy(["*.svc.cluster.local"], []);

  test.each<[host: string, policy: DestinationPolicy]>([
    ["127.0.0.1\0.svc.cluster.local", onlyServices],
    ["localhost\0.svc.cluster.local", onlyServices],
    ["ⓛocalhost", noLoopback],
    ["ⓛocalhost\0.svc.cluster.local", onlyServices],
    ["", noLoopback],
    ["0", noLoopback],
    ["0.0.0.0", noLoopback],
    ["127.1", noLoopback],
    ["0x7f.1", noLoopback],
    ["2130706433", noLoopback],
    ["017700000001", noLoopback],
    ["[::]", noLoopback],
    ["[::ffff:0.0.0.0]", noLoopback],
    ["[::0.0.0.0]", noLoopback],
    ["[::0.0.0.1]", noLoopback],
    ["[::1%lo]", noLoopback],
    ["[::ffff:127.0.0.1%lo]", noLoopback],
    ["LOCALHOST.", noLoopback],
  ])("%j", async (host, policy) => {
    const six = createServer((socket) => accepted.push(socket));
    await new Promise<void>((resolve) => six.listen(port, "::1", resolve));
    try {
      const { failure } = await dial(`${host}:${port}`, { policy }).outcome;
      expect(failure?.error).toMatch(/destination policy|no such host/);
      expect(accepted).toEqual([]);
    } finally {
      six.close();
    }
  });
});
