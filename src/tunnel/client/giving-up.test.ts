/** Dials that come to nothing: no agent, no answer, no patience, nobody home. */
import { once } from "node:events";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readToEnd } from "../../../test/support/callers/bytes.js";
import { waitUntil } from "../../../test/support/processes/deadline.js";
import { freePort } from "../../../test/support/processes/ports.js";
import { type BlackHole, startBlackHole } from "../../../test/support/targets/black-hole.js";
import { startEcho } from "../../../test/support/targets/echo.js";
import type { Target } from "../../../test/support/targets/listener.js";
import { DrawbridgeError } from "../../base/errors/error.js";
import { dialThrough } from "./dial.js";
import { DialRefusedError } from "./errors.js";
import { FRONTENDS, startTunnelFixture, type TunnelFixture } from "./testing/fixture.js";

let fixture: TunnelFixture;
let lonely: TunnelFixture;
let nowhere: BlackHole;
let echo: Target;

beforeAll(async () => {
  [fixture, lonely, nowhere, echo] = await Promise.all([
    startTunnelFixture(),
    startTunnelFixture(),
    startBlackHole(),
    startEcho(),
  ]);
  await fixture.startAgent();
});

afterAll(async () => {
  await Promise.all([fixture.close(), lonely.close(), nowhere.close(), echo.close()]);
});

const reasonOf = (dial: Promise<unknown>): Promise<unknown> =>
  dial.then(
    () => "the dial succeeded",
    (reason: unknown) => reason,
  );

const codeOf = (reason: unknown): unknown => (reason instanceof DrawbridgeError ? reason.code : reason);

describe.each(FRONTENDS)("through %s", (name) => {
  test("a server without agents says so, with the reference to look up", async () => {
    const reason = await reasonOf(dialThrough(lonely.frontends[name], "10.0.0.1:443", { redialMs: 0 }));
    expect(codeOf(reason)).toBe("DB_NO_AGENT");
    expect((reason as DialRefusedError).answer).toMatch(/No agent available \(0 connected.*reference [0-9a-f]{8}\)/);
  });

  test("a dial ends at its deadline, and the server forgets it", async () => {
    const reason = await reasonOf(dialThrough(fixture.frontends[name], nowhere.address, { timeoutMs: 300 }));
    expect(codeOf(reason)).toBe("DB_DIAL_TIMEOUT");
    // A refusal would be the agent's, which gives an endpoint five seconds.
    expect(reason).not.toBeInstanceOf(DialRefusedError);
    await waitUntil("the dial to be forgotten", () => fixture.server.board.pendingDials === 0);
  });

  test("a dial is aborted half-way, and the server forgets it", async () => {
    const patience = new AbortController();
    const dial = reasonOf(dialThrough(fixture.frontends[name], nowhere.address, { signal: patience.signal }));
    await waitUntil("the dial to be under way", () => fixture.server.board.pendingDials === 1);
    const enough = new Error("enough");
    patience.abort(enough);
    expect(await dial).toBe(enough);
    await waitUntil("the dial to be forgotten", () => fixture.server.board.pendingDials === 0);
  });

  test("a signal that has fired already starts nothing", async () => {
    const before = echo.accepted;
    const dial = dialThrough(fixture.frontends[name], echo.address, { signal: AbortSignal.abort() });
    await expect(dial).rejects.toMatchObject({ name: "AbortError" });
    expect(echo.accepted).toBe(before);
  });

  test("a signal that fires later does no harm to the tunnel", async () => {
    const patience = new AbortController();
    const socket = await dialThrough(fixture.frontends[name], echo.address, {
      signal: patience.signal,
      timeoutMs: 5_000,
    });
    patience.abort();
    socket.write("still here");
    expect(String((await once(socket, "data"))[0])).toBe("still here");
    socket.destroy();
  });

  test("the agent's end is the tunnel's, and an error", async () => {
    const passing = await startTunnelFixture();
    const agent = await passing.startAgent();
    const socket = await dialThrough(passing.frontends[name], echo.address);
    const ending = readToEnd(socket);
    await agent.stop();
    const { error } = await ending;
    // Nothing tells a cut from an end on a Unix socket.
    expect(error !== undefined).toBe(name !== "connect-uds");
    await passing.close();
  });

  test("the server's end is the tunnel's end, and on gRPC told from an orderly one", async () => {
    const passing = await startTunnelFixture();
    await passing.startAgent();
    const socket = await dialThrough(passing.frontends[name], echo.address);
    const ending = readToEnd(socket);
    passing.server.destroy();
    const { error } = await ending;
    if (passing.frontends[name].mode === "grpc") expect(error).toBeInstanceOf(DrawbridgeError);
    expect(socket.destroyed || socket.readableEnded).toBe(true);
    await passing.close();
  });
});

describe("a server that is not there", () => {
  test.each(["http-connect", "grpc"] as const)("is named by its address (%s)", async (mode) => {
    const port = await freePort();
    const tcp = { mode, host: "127.0.0.1", port, tls: {} };
    await expect(dialThrough(tcp, "a:1", { redialMs: 0 })).rejects.toMatchObject({
      code: "DB_CONNECT_REFUSED",
      message: expect.stringContaining(`cannot connect to 127.0.0.1:${port}: connection refused`),
    });
    const uds = { mode, uds: "/nonexistent/drawbridge.sock" };
    await expect(dialThrough(uds, "a:1")).rejects.toThrow("the proxy-server at /nonexistent/drawbridge.sock cannot");
    const long = { mode, uds: `/tmp/${"x".repeat(200)}` };
    await expect(dialThrough(long, "a:1")).rejects.toBeInstanceOf(DrawbridgeError);
  });

  test.each(["http-connect", "grpc"] as const)(
    "is not waited for beyond the deadline when it is silent (%s)",
    async (mode) => {
      const silent = createServer().listen(join("\0", `drawbridge-silent-${process.pid}-${mode}`));
      await once(silent, "listening");
      const uds = silent.address() as string;
      const reason = await reasonOf(dialThrough({ mode, uds }, "a:1", { timeoutMs: 200 }));
      expect(codeOf(reason)).toBe("DB_DIAL_TIMEOUT");
      silent.close();
    },
  );

  test.each(["connect-tcp", "grpc-tcp"] as const)(
    "or that we cannot trust, or that does not trust us (%s)",
    async (name) => {
      const frontend = fixture.frontends[name];
      if ("uds" in frontend) throw new Error("a TCP frontend is wanted");
      const { caFile: _, ...withoutCa } = frontend.tls;
      await expect(dialThrough({ ...frontend, tls: withoutCa }, echo.address)).rejects.toThrow(
        /the certificate of the server at .* no CA file was given/,
      );
      const { caFile = "" } = frontend.tls;
      await expect(dialThrough({ ...frontend, tls: { caFile } }, echo.address)).rejects.toThrow(
        /showed no certificate/,
      );
      await expect(
        dialThrough({ ...frontend, tls: { caFile: "/nonexistent/ca.pem" } }, echo.address),
      ).rejects.toMatchObject({
        code: "DB_CERT_MISSING",
      });
    },
  );
});

describe("the wrong kind of frontend", () => {
  test.each([
    [
      "grpc",
      "connect-uds",
      /it (?:is not|had not answered in) HTTP\/2, as .*gRPC.*, so this may be an http-connect frontend/,
    ],
    ["http-connect", "grpc-uds", /it is not HTTP\/1, so this may be a gRPC frontend/],
    ["grpc", "connect-tcp", /no application protocol/],
    ["http-connect", "grpc-tcp", /it did not ask for HTTP\/2/],
  ] as const)("fails at once when %s is spoken at %s", async (mode, name, words) => {
    const reason = await reasonOf(
      dialThrough({ ...fixture.frontends[name], mode }, echo.address, { timeoutMs: 5_000 }),
    );
    expect(reason).toBeInstanceOf(DrawbridgeError);
    expect((reason as DrawbridgeError).message).toMatch(words);
    expect((reason as DrawbridgeError).message).not.toContain("\n");
  });
});
