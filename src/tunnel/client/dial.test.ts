import { getEventListeners, once } from "node:events";
import type { Socket } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { payload, readExactly, readToEnd, sha256 } from "../../../test/support/callers/bytes.js";
import { waitUntil } from "../../../test/support/processes/deadline.js";
import { freePort } from "../../../test/support/processes/ports.js";
import { forSink, GO, startEndlessSource, startSink, startSource } from "../../../test/support/targets/bulk.js";
import { startBanner, startEcho } from "../../../test/support/targets/echo.js";
import { startAnswerAfterEnd, startSteered } from "../../../test/support/targets/half-open.js";
import type { Target } from "../../../test/support/targets/listener.js";
import { startSlowReader } from "../../../test/support/targets/stalled.js";
import { DrawbridgeError } from "../../base/errors/error.js";
import { streamError } from "../events/channels.js";
import { dialThrough } from "./dial.js";
import { DialRefusedError } from "./errors.js";
import type { Frontend } from "./frontend.js";
import type { TunnelSocket } from "./grpc-tunnel.js";
import { FRONTENDS, startTunnelFixture, type TunnelFixture } from "./testing/fixture.js";

const MIB = 1024 * 1024;

let fixture: TunnelFixture;
let echo: Target;

beforeAll(async () => {
  fixture = await startTunnelFixture();
  await fixture.startAgent();
  echo = await startEcho();
});

afterAll(async () => {
  await echo.close();
  await fixture.close();
});

const opened: TunnelSocket[] = [];

/** What a test leaves open must not disturb the next one. */
const dial = async (...how: Parameters<typeof dialThrough>): Promise<TunnelSocket> => {
  const socket = await dialThrough(...how);
  opened.push(socket);
  return socket;
};

afterEach(async () => {
  for (const socket of opened.splice(0)) socket.destroy();
  await waitUntil("the tunnels to be gone", () => fixture.server.board.establishedTunnels === 0);
});

const refusal = async (dial: Promise<unknown>): Promise<DialRefusedError> => {
  const reason = await dial.then(
    () => new Error("the dial succeeded"),
    (error: unknown) => error,
  );
  expect(reason).toBeInstanceOf(DialRefusedError);
  return reason as DialRefusedError;
};

/** All tunnels of the server are gone, and so are their endpoint's connections. */
const nothingLeft = (target: { readonly open: number }) =>
  waitUntil(
    "tunnels and connections to be gone",
    () => fixture.server.board.establishedTunnels === 0 && target.open === 0,
  );

describe.each(FRONTENDS)("a dial through %s", (name) => {
  const frontend = (): Frontend => fixture.frontends[name];

  test("carries bytes both ways and leaves nothing behind, not even in the server's error counts", async () => {
    const errors: unknown[] = [];
    const unsubscribe = streamError.subscribe((event) => errors.push(event), fixture.server);
    const socket = await dial(frontend(), echo.address);
    socket.write("hello ");
    socket.write("tunnel");
    expect((await readExactly(socket, 12)).toString()).toBe("hello tunnel");
    socket.destroy();
    await once(socket, "close");
    await nothingLeft(echo);
    await waitUntil("the streams to end", () => !fixture.server.readings().grpcConnections().Proxy);
    unsubscribe();
    expect(errors).toEqual([]);
  });

  test("delivers 5 MiB from the endpoint unchanged, then its end", async () => {
    const bytes = payload(name, 5 * MIB);
    const source = await startSource(bytes);
    const socket = await dial(frontend(), source.address);
    socket.write(GO);
    const { bytes: got, error } = await readToEnd(socket);
    expect(error).toBeUndefined();
    expect(sha256(got)).toBe(sha256(bytes));
    await nothingLeft(source);
    await source.close();
  });

  test("delivers 5 MiB to the endpoint unchanged", async () => {
    const bytes = payload(name, 5 * MIB);
    const sink = await startSink();
    const socket = await dial(frontend(), sink.address);
    socket.write(forSink(bytes));
    expect((await readExactly(socket, 64)).toString()).toBe(sha256(bytes));
    socket.end();
    await nothingLeft(sink);
    await sink.close();
  });

  test("keeps what the endpoint says before we do", async () => {
    const banner = payload("banner", 200_000);
    const talker = await startBanner(banner);
    const socket = await dial(frontend(), talker.address);
    expect(sha256(await readExactly(socket, banner.length))).toBe(sha256(banner));
    socket.destroy();
    await talker.close();
  });

  test("reads what was sent before a close at once", async () => {
    const bye = await startSteered();
    const dialled = dial(frontend(), bye.address);
    (await bye.next()).socket.end("bye");
    const { bytes, error } = await readToEnd(await dialled);
    expect({ text: bytes.toString(), error }).toEqual({ text: "bye", error: undefined });
    await bye.close();
  });

  test("tells the endpoint when it is destroyed, and when it is ended", async () => {
    const target = await startSteered();
    for (const leave of ["destroy", "end", "destroySoon"] as const) {
      const socket = await dial(frontend(), target.address);
      const { inputEnded } = await target.next();
      socket[leave]();
      await inputEnded;
      socket.destroy();
    }
    await target.close();
  });

  test("holds the program back when the endpoint does not read", async () => {
    const slow = await startSlowReader();
    const socket = await dial(frontend(), slow.address);
    const chunk = payload("slow", 256 * 1024);
    let written = 0;
    while (written < 64 * MIB && socket.write(chunk)) {
      written += chunk.length;
      await new Promise(setImmediate);
    }
    // Queues along the way take their share; without an end to them this loop would have written it all.
    while (written < 64 * MIB) {
      const drained = once(socket, "drain").then(() => true);
      const stalled = new Promise<boolean>((resolve) => setTimeout(resolve, 500, false));
      if (!(await Promise.race([drained, stalled]))) break;
      while (written < 64 * MIB && socket.write(chunk)) written += chunk.length;
    }
    expect(written).toBeLessThan(64 * MIB);
    slow.release();
    await once(socket, "drain");
    socket.destroy();
    await slow.close();
  });

  test("holds the endpoint back when the program does not read", async () => {
    const source = await startEndlessSource();
    const socket = await dial(frontend(), source.address);
    socket.write(GO);
    await once(socket, "readable");
    const received = () => [...fixture.server.board.registry.links()].flatMap((link) => [...link.tunnels.values()])[0]!;
    let before = -1;
    await waitUntil(
      "the flow to stop",
      async () => {
        const now = received().bytesToNear;
        const stopped = now === before;
        before = now;
        await new Promise((resolve) => setTimeout(resolve, 300));
        return stopped;
      },
      { withinMs: 15_000 },
    );
    expect(before).toBeLessThan(32 * MIB);
    socket.resume();
    await waitUntil("the flow to go on", () => received().bytesToNear > before + 8 * MIB);
    socket.destroy();
    await nothingLeft(source);
    await source.close();
  });

  test("says what the agent said when the endpoint refuses", async () => {
    const port = await freePort();
    const error = await refusal(dial(frontend(), `127.0.0.1:${port}`));
    expect(error.answer).toBe(`dial tcp 127.0.0.1:${port}: connect: connection refused`);
    expect(error.message).toContain(error.answer);
    expect(error.status).toBe(frontend().mode === "grpc" ? undefined : 502);
  });

  test("names the policy when the agent's policy forbids the address", async () => {
    const error = await refusal(dial(frontend(), "169.254.169.254:80"));
    expect(error.code).toBe("DB_DIAL_DENIED");
  });

  test("lets go of the caller's signal once it has ended", async () => {
    const { signal } = new AbortController();
    const socket = await dial(frontend(), echo.address, { signal });
    await refusal(dial(frontend(), `127.0.0.1:${await freePort()}`, { signal }));
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
    socket.destroy();
  });
});

describe.each(["connect-uds", "connect-tcp"] as const)("half-close through %s", (name) => {
  test("reaches the endpoint, whose answer still comes back", async () => {
    const target = await startAnswerAfterEnd((request) => Buffer.from(`got ${request.length}`));
    const socket = await dial(fixture.frontends[name], target.address);
    socket.end(payload("half", 100_000));
    expect((await readToEnd(socket)).bytes.toString()).toBe("got 100000");
    await target.close();
  });

  test("comes from the endpoint, and with allowHalfOpen our side goes on", async () => {
    const target = await startSteered();
    const socket = (await dial(fixture.frontends[name], target.address, { allowHalfOpen: true })) as Socket;
    const far = await target.next();
    far.socket.end("last words");
    expect((await readToEnd(socket)).bytes.toString()).toBe("last words");
    expect(socket.writable).toBe(true);
    socket.end("still here");
    await far.inputEnded;
    expect(far.received().toString()).toBe("still here");
    await target.close();
  });
});

describe("an address", () => {
  test.each([
    "10.0.0.1",
    "10.0.0.1:",
    "10.0.0.1:0",
    "10.0.0.1:70000",
    ":80",
    "a b:80",
    "a:80\r\nX: y:1",
    "::1:80",
    "ü:80",
  ])("like %j is refused before anything is sent", async (address) => {
    const dials = fixture.frontends["connect-uds"];
    await expect(dialThrough(dials, address)).rejects.toSatisfy(
      (reason) => reason instanceof DrawbridgeError && reason.message.includes("cannot be dialled"),
    );
  });
});
