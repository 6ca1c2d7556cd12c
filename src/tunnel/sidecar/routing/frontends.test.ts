import { connect, createServer, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hastyClock } from "../../../base/testing/hasty-clock.js";
import type { DialOptions } from "../../client/errors.js";
import { DialRefusedError, dialTimeout, frontendUnreachable } from "../../client/errors.js";
import { FailoverDialer, type FrontendDialer } from "./frontends.js";

const NEVER = new AbortController().signal;
const TARGET = { host: "10.0.0.1", port: 443 };

const server = createServer();
let port = 0;
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  port = (server.address() as { port: number }).port;
});
afterAll(() => server.close());

type DialAnswer = Error | "ok";

function frontends(...answers: DialAnswer[][]) {
  const dials: string[] = [];
  const options: DialOptions[] = [];
  const made: FrontendDialer[] = answers.map((list, index) => ({
    async dial(address, given) {
      dials.push(`${index} ${address}`);
      options.push(given ?? {});
      const next = list.shift() ?? "ok";
      if (next !== "ok") throw next;
      const socket: Socket = connect(port, "127.0.0.1");
      return socket;
    },
  }));
  const clock = hastyClock();
  const tunnels = new FailoverDialer(made, 9_000, clock);
  const dial = async (): Promise<void> => void (await tunnels.dial(TARGET, { name: "db.example" }, NEVER)).destroy();
  return { dials, options, dial, clock };
}

const unreachable = (): Error => frontendUnreachable("server", "refused");
const noAgent = (): Error => new DialRefusedError("x", "currently no tunnels available: No agent available", 500);
const noAnswer = (): Error => new DialRefusedError("x", "dial tcp 10.0.0.1:443: i/o timeout", 504);
const refused = (): Error => new DialRefusedError("x", "dial tcp 10.0.0.1:443: connect: connection refused", 502);

describe("several proxy-servers", () => {
  test("are tried starting with the one that worked last", async () => {
    const { dials, dial } = frontends([unreachable()], []);
    await dial();
    await dial();
    expect(dials.map((text) => text[0])).toEqual(["0", "1", "1"]);
  });

  test.each([
    ["is out of reach", unreachable()],
    ["has no agent", noAgent()],
    ["does not answer in its share of the time", dialTimeout("x", 1)],
  ])("the next is asked when one %s", async (_, failure) => {
    const { dials, options, dial } = frontends([failure], []);
    await dial();
    expect(dials).toEqual(["0 10.0.0.1:443", "1 10.0.0.1:443"]);
    expect(options.map(({ timeoutMs, name, allowHalfOpen }) => ({ timeoutMs, name, allowHalfOpen }))).toEqual([
      { timeoutMs: 4_500, name: "db.example", allowHalfOpen: true },
      { timeoutMs: 9_000, name: "db.example", allowHalfOpen: true },
    ]);
  });

  test("are not tried further once an agent has dialled", async () => {
    const { dials, dial } = frontends([refused()], []);
    await expect(dial()).rejects.toMatchObject({ kind: "refused", code: "DB_DIAL_FAILED" });
    expect(dials).toHaveLength(1);
  });

  test.each<[string, () => Error, () => Error, string]>([
    ["both found dead leaves the first in its place", noAnswer, noAnswer, "0"],
    ["the last one never answered for leaves the first in its place", noAnswer, () => dialTimeout("x", 1), "0"],
    ["only the last one answered for makes that one the first", () => dialTimeout("x", 1), noAnswer, "1"],
  ])("a target that %s", async (_, one, two, next) => {
    const { dials, dial } = frontends([one()], [two()]);
    await expect(dial()).rejects.toMatchObject({ kind: "timeout" });
    await dial();
    expect(dials.map((text) => text[0])).toEqual(["0", "1", next]);
  });

  test("are all named in the error when none can be used", async () => {
    const { dial } = frontends([unreachable()], [noAgent()]);
    await expect(dial()).rejects.toMatchObject({
      kind: "path",
      code: "DB_FRONTEND",
      message: expect.stringMatching(
        /^none of 2 proxy-servers can be used: .*cannot be reached.*; .*No agent available\.$/,
      ),
    });
  });

  test("are asked again for a moment while none has an agent", async () => {
    const { dials, dial, clock } = frontends([noAgent(), noAgent()], [noAgent(), noAgent()]);
    await dial();
    expect(dials.map((text) => text[0])).toEqual(["0", "1", "0", "1", "0"]);
    expect(clock.waited).toHaveLength(2);
  });

  test("but not for ever: after half a minute in vain a dial fails at once, until one has succeeded", async () => {
    const failures = Array.from({ length: 200 }, noAgent);
    const { dials, dial } = frontends(failures);
    let rounds = 0;
    for (; ; rounds++) {
      const before = dials.length;
      await expect(dial()).rejects.toMatchObject({ code: "DB_NO_AGENT" });
      if (dials.length === before + 1) break;
    }
    expect(rounds).toBeGreaterThan(5);
    expect(rounds).toBeLessThan(10);
    failures.length = 0;
    await dial();
    failures.push(noAgent());
    await dial();
    expect(failures).toEqual([]);
  });

  test.each([
    ["dial tcp: lookup a.b: no such host", 502, "name"],
    ["dial tcp 10.0.0.1:1: connect: connection refused", 502, "refused"],
    ["dial tcp 10.0.0.1:1: connect: network is unreachable", 502, "network"],
    ["dial tcp 10.0.0.1:1: connect: no route to host", 502, "host"],
    ["dial tcp 10.0.0.1:1: i/o timeout", 504, "timeout"],
    ["10.0.0.1:1 is forbidden by the destination policy", 502, "forbidden"],
    ["Failed to tunnel dial request: backend context error", 502, "path"],
    ["currently no tunnels available: No agent available", 500, "path"],
  ])("%s (%i) is a failure of kind %s", async (answer, status, kind) => {
    const { dial } = frontends(Array.from({ length: 20 }, () => new DialRefusedError("x", answer, status)));
    await expect(dial()).rejects.toMatchObject({ kind });
  });

  test("the dial rejects with the caller's own reason when it is stopped", async () => {
    const stop = new AbortController();
    const gone = new Error("the client left");
    const never: FrontendDialer = {
      dial: (_, options) => {
        stop.abort(gone);
        return Promise.reject(options?.signal?.reason);
      },
    };
    const tunnels = new FailoverDialer([never, never], 1_000, hastyClock());
    await expect(tunnels.dial(TARGET, {}, stop.signal)).rejects.toBe(gone);
  });
});
