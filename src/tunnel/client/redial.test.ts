/** Dials that are made again while nobody has seen them. */
import { linkSync, mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { readToEnd } from "../../../test/support/callers/bytes.js";
import { waitUntil } from "../../../test/support/processes/deadline.js";
import { freePort } from "../../../test/support/processes/ports.js";
import { startEcho } from "../../../test/support/targets/echo.js";
import { hastyClock } from "../../base/testing/hasty-clock.js";
import { serverRefused } from "../events/channels.js";
import { connectTimeout, explainConnect, explainHandshake } from "../outgoing/explain.js";
import { dialFacts } from "../outgoing/facts.js";
import { LookupError } from "../resolver/resolver.js";
import { ESTABLISHED, noTunnels } from "../wire/connect.js";
import { dialThrough } from "./dial.js";
import { DialRefusedError, frontendUnreachable } from "./errors.js";
import type { Frontend } from "./frontend.js";
import { GrpcTunnelPool } from "./grpc-pool.js";
import { isUnseen, REDIAL_MS, redialled } from "./redial.js";
import { startTunnelFixture } from "./testing/fixture.js";

const NEVER = new AbortController().signal;
const noAgent = () => new DialRefusedError("a:1", "currently no tunnels available: No agent available", 500);
const refusedConnect = () =>
  frontendUnreachable("server", Object.assign(new Error("refused"), { code: "ECONNREFUSED" }));

const silentDns = new LookupError("server", "ETIMEOUT", "i/o timeout");
const hangUp = Object.assign(new Error("reset"), { code: "ECONNRESET" });
const NOT_TLS = { code: "ERR_SSL_WRONG_VERSION_NUMBER", reason: "wrong version number" };
const FACTS = dialFacts(
  { where: "server", name: "server", peer: [] },
  { self: "this test", set: {}, admittedBy: "it" },
);

const hostUnreachable = Object.assign(new Error("unreachable"), { code: "EHOSTUNREACH" });

const endings: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

describe("with a clock of its own", () => {
  const attempts = async (failures: readonly (() => Error)[], forMs = REDIAL_MS) => {
    const clock = hastyClock();
    let made = 0;
    const dial = redialled({ forMs, runtime: Object.assign(clock, { random: () => 1 }) }, NEVER, async () => {
      const failure = failures[Math.min(made++, failures.length - 1)];
      if (failure !== undefined) throw failure();
      return "open";
    });
    return { end: await dial.catch((reason: Error) => reason), made, waited: clock.waited };
  };

  test.each([
    ["the server has no agent", noAgent],
    ["the server does not listen", refusedConnect],
    ["the server's address is silent", () => connectTimeout("server", 3_000)],
    ["no host has the server's address any more", () => explainConnect("server", hostUnreachable)],
    ["the DNS server does not answer", () => explainConnect("server", silentDns)],
    ["the server hangs up during the handshake", () => explainHandshake(hangUp, FACTS)],
  ])("while %s it is made again, ever more seldom, and fails as the last attempt did", async (_name, failure) => {
    const { end, made, waited } = await attempts([failure]);
    expect(end).toMatchObject({ message: failure().message });
    expect([made, waited]).toEqual([8, [100, 200, 400, 800, 1_000, 1_000, 1_000]]);
  });

  test("whatever else fails is told at once", async () => {
    const target = () => new DialRefusedError("a:1", "dial tcp 10.0.0.1:1: connect: connection refused", 502);
    const absent = () => frontendUnreachable("server", Object.assign(new Error("absent"), { code: "ENOENT" }));
    expect((await attempts([target])).made).toBe(1);
    const unknown = () => explainConnect("server", new LookupError("server", "ENOTFOUND", "no such host"));
    const plainText = () => explainHandshake(Object.assign(new Error(), NOT_TLS), FACTS);
    expect((await attempts([absent])).made).toBe(1);
    expect((await attempts([unknown])).made).toBe(1);
    expect((await attempts([plainText])).made).toBe(1);
    expect((await attempts([noAgent, target])).made).toBe(2);
  });

  test("with 0 it is made once", async () => {
    expect((await attempts([noAgent], 0)).made).toBe(1);
  });

  test("a caller that leaves during the pause gets its own reason", async () => {
    const gone = new Error("gone");
    const stop = new AbortController();
    const clock = hastyClock(() => stop.abort(gone));
    const dial = redialled({ forMs: REDIAL_MS, runtime: clock }, stop.signal, () => Promise.reject(noAgent()));
    await expect(dial).rejects.toBe(gone);
  });
});

/** Its first answers are refusals. */
function refusingFrontend(refusals: number): { server: Server; path: string; asked: () => number } {
  const folder = mkdtempSync(join(tmpdir(), "db-redial-"));
  endings.push(() => rmSync(folder, { recursive: true, force: true }));
  let asked = 0;
  const server = createServer((socket) => {
    socket.once("data", () => {
      if (asked++ < refusals) socket.end(noTunnels("No agent available"));
      else {
        socket.write(ESTABLISHED);
        setImmediate(() => socket.end("hello"));
      }
    });
  });
  endings.push(() => server.close());
  const path = join(folder, "s");
  server.listen(path);
  return { server, path, asked: () => asked };
}

test("dialThrough comes back until the server has an agent", async () => {
  const { path, asked } = refusingFrontend(2);
  const socket = await dialThrough({ mode: "http-connect", uds: path }, "a:1");
  expect([String((await readToEnd(socket)).bytes), asked()]).toEqual(["hello", 3]);
});

test("and never beyond its deadline, with the refusal as its error", async () => {
  const { path } = refusingFrontend(1_000);
  const began = performance.now();
  const dial = dialThrough({ mode: "http-connect", uds: path }, "a:1", { timeoutMs: 400 });
  await expect(dial).rejects.toMatchObject({ code: "DB_NO_AGENT" });
  expect(performance.now() - began).toBeLessThan(REDIAL_MS);
});

test("a pool does the same, until the server is there and has its agent", async () => {
  const fixture = await startTunnelFixture();
  endings.push(() => fixture.close());
  let refusals = 0;
  endings.push(serverRefused.subscribe(() => refusals++, fixture.server));
  const echo = await startEcho();
  endings.push(() => echo.close());
  const pool = new GrpcTunnelPool({ ...fixture.frontends["grpc-uds"], mode: "grpc" });
  endings.push(() => pool.close());
  const dial = pool.dial(echo.address);
  await waitUntil("the first refusal", () => refusals > 0);
  await fixture.startAgent();
  (await dial).destroy();
});

test("a port where nobody listens is such a case, of TCP and of a Unix socket", async () => {
  const { server, path } = refusingFrontend(0);
  await new Promise<void>((resolve) => server.once("listening", resolve));
  // Closing takes the path away; a copy of it leads to a socket where nobody listens any more.
  linkSync(path, `${path}2`);
  await new Promise((resolve) => server.close(resolve));
  const frontends: Frontend[] = [
    { mode: "http-connect", host: "127.0.0.1", port: await freePort(), tls: {} },
    { mode: "http-connect", uds: `${path}2` },
  ];
  for (const frontend of frontends) {
    const reason = await dialThrough(frontend, "a:1", { redialMs: 0 }).catch((why: unknown) => why);
    expect(isUnseen(reason), String(reason)).toBe(true);
  }
});
