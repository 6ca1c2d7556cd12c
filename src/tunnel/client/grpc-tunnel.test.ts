/** gRPC answers that our own server would not give in just this way. */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { readToEnd } from "../../../test/support/callers/bytes.js";
import { waitUntil } from "../../../test/support/processes/deadline.js";
import { ManualClock } from "../../base/testing/manual-clock.js";
import {
  acceptCall,
  createGrpcListener,
  endWithStatus,
  type GrpcListener,
  type IncomingCall,
} from "../link/listener.js";
import { SegmentCounters } from "../link/packet-meter.js";
import { PacketStream, type StreamEnd } from "../link/packet-stream.js";
import type { ControlPacket } from "../wire/packet.js";
import { dialThrough } from "./dial.js";
import type { InnerDialOptions } from "./errors.js";
import type { GrpcTunnel } from "./grpc-tunnel.js";

const ID = 9_007_199_254_740_993n;

let uds: string;
let dir: string;
let listener: GrpcListener;
/** What the caller said, and how its streams ended. */
let said: ControlPacket[];
let heard: string;
let ends: StreamEnd[];

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "drawbridge-grpc-"));
  uds = join(dir, "frontend.sock");
  said = [];
  ends = [];
  heard = "";
});

afterEach(() => {
  vi.useRealTimers();
  listener.destroy();
  rmSync(dir, { recursive: true });
});

type Script = (stream: PacketStream, packet: ControlPacket) => void;

async function listen(onCall: (call: IncomingCall) => void): Promise<{ mode: "grpc"; uds: string }> {
  listener = createGrpcListener({
    method: "/ProxyService/Proxy",
    ...{ misdirectedMethods: {}, onRefused() {} },
    streamWindowBytes: 65_535,
    maxStreams: 100,
    keepaliveMs: 60_000,
    onCall,
  });
  listener.server.listen(uds);
  await once(listener.server, "listening");
  return { mode: "grpc", uds };
}

/** A frontend that calls `script` for every control packet, and ends its streams when the caller does. */
function startFrontend(script: Script): Promise<{ mode: "grpc"; uds: string }> {
  // This frontend's own records: a stream of the test before may end late.
  const [itsWords, itsEnds] = [said, ends];
  return listen((call) => {
    acceptCall(call.stream);
    const counters = new SegmentCounters();
    const stream: PacketStream = new PacketStream(
      call.stream,
      {
        onControl(packet) {
          itsWords.push(packet);
          script(stream, packet);
        },
        onData(_connectId, chunk) {
          heard += chunk.toString();
        },
        onSettle() {},
        onDrain() {},
        onEmpty() {},
        onRemoteEnd: () => stream.end(),
        onClosed: (end) => itsEnds.push(end),
      },
      { received: counters, sent: counters },
    );
  });
}

const accepting: Script = (stream, packet) => {
  if (packet.type === "DIAL_REQ") stream.control({ type: "DIAL_RSP", error: "", connectId: ID, random: packet.random });
};

const answering: Script = (stream, packet) => {
  accepting(stream, packet);
  if (packet.type === "CLOSE_REQ") stream.control({ type: "CLOSE_RSP", connectId: packet.connectId, error: "" });
};

const types = () => said.map(({ type }) => type);
const streamEnded = () => waitUntil("the stream to end", () => ends[0]);

describe("a gRPC dial", () => {
  test("asks for the address over tcp with an ID of its own", async () => {
    const frontend = await startFrontend(answering);
    for (const address of ["[fd00::1]:443", "name.example:80"]) (await dialThrough(frontend, address)).destroy();
    const dials = said.flatMap((packet) => (packet.type === "DIAL_REQ" ? [packet] : []));
    expect(dials).toMatchObject([
      { protocol: "tcp", address: "[fd00::1]:443" },
      { protocol: "tcp", address: "name.example:80" },
    ]);
    expect(dials[0]!.random).not.toBe(dials[1]!.random);
  });

  test("keeps bytes, and the end, that come with the answer in one piece", async () => {
    const frontend = await startFrontend((stream, packet) => {
      accepting(stream, packet);
      stream.data(ID, Buffer.from("first words"));
      stream.control({ type: "CLOSE_RSP", connectId: ID, error: "" });
    });
    const socket = await dialThrough(frontend, "a:1");
    await new Promise((resolve) => setTimeout(resolve, 20));
    const { bytes, error } = await readToEnd(socket);
    expect({ text: bytes.toString(), error }).toEqual({ text: "first words", error: undefined });
    expect(await streamEnded()).toMatchObject({ status: 0 });
    expect(types()).toEqual(["DIAL_REQ"]);
  });

  test("ignores bytes that come before the answer", async () => {
    const frontend = await startFrontend((stream, packet) => {
      stream.data(0, Buffer.from("of nobody"));
      accepting(stream, packet);
      stream.data(ID, Buffer.from("first words"));
      stream.control({ type: "CLOSE_RSP", connectId: ID, error: "" });
    });
    const { bytes } = await readToEnd(await dialThrough(frontend, "a:1"));
    expect(bytes.toString()).toBe("first words");
  });

  test("sends everything before CLOSE_REQ and waits for its answer", async () => {
    const frontend = await startFrontend(answering);
    const socket = await dialThrough(frontend, "a:1");
    const text = "x".repeat(1_000_000);
    socket.resume().end(text);
    await once(socket, "close");
    expect(heard).toBe(text);
    expect(types()).toEqual(["DIAL_REQ", "CLOSE_REQ"]);
    expect(await streamEnded()).toMatchObject({ status: 0 });
  });

  test.each(["No agent available", "dial tcp 10.0.0.1:80: connect: connection refused"])(
    "rejects with the agent's words: %s",
    async (error) => {
      const frontend = await startFrontend((stream, packet) => {
        if (packet.type === "DIAL_REQ")
          stream.control({ type: "DIAL_RSP", error, connectId: 0, random: packet.random });
      });
      await expect(dialThrough(frontend, "a:1", { redialMs: 0 })).rejects.toMatchObject({
        answer: error,
        status: undefined,
      });
      expect(await streamEnded()).toMatchObject({ status: 0 });
    },
  );

  test.each<[string, Script, string]>([
    [
      "an answer to another dial",
      (stream) => stream.control({ type: "DIAL_RSP", error: "", connectId: 7, random: 1n }),
      "another dial",
    ],
    [
      "a connection without a number",
      (stream, packet) => {
        if (packet.type === "DIAL_REQ")
          stream.control({ type: "DIAL_RSP", error: "", connectId: 0, random: packet.random });
      },
      "no number",
    ],
    ["a dial that is closed", (stream) => stream.control({ type: "DIAL_CLS", random: 1n }), "without a reason"],
    ["an end", (stream) => stream.end(), "it ended the stream"],
  ])("is not fooled by %s", async (_what, script, words) => {
    await expect(dialThrough(await startFrontend(script), "a:1")).rejects.toThrow(words);
  });

  test("passes on why a server refuses the call, at once or later", async () => {
    const frontend = await listen((call) => endWithStatus(call.stream, 16, "not you"));
    await expect(dialThrough(frontend, "a:1")).rejects.toThrow("Unauthenticated: not you");
    listener.destroy();
    const later = await listen(({ stream }) => {
      stream.respond({ "content-type": "application/grpc" });
      stream.end({ "grpc-status": "8", "grpc-message": "too%20much" });
    });
    await expect(dialThrough(later, "a:1")).rejects.toThrow("ResourceExhausted: too much");
  });

  test("says DIAL_CLS when it is given up", async () => {
    let onAsked = (): void => {};
    const asked = new Promise<void>((resolve) => {
      onAsked = resolve;
    });
    const frontend = await startFrontend(() => onAsked());
    const clock = new ManualClock();
    const options: InnerDialOptions = { timeoutMs: 100, runtime: clock };
    const dialled = dialThrough(frontend, "a:1", options);
    const refused = expect(dialled).rejects.toMatchObject({ code: "DB_DIAL_TIMEOUT" });
    await asked;
    clock.advance(100);
    await refused;
    await streamEnded();
    const [dial, close] = said as [{ random: bigint }, ControlPacket];
    expect(close).toEqual({ type: "DIAL_CLS", random: dial.random });
  });

  test("closes a connection whose answer crossed the abort", async () => {
    const patience = new AbortController();
    const frontend = await startFrontend((stream, packet) => {
      if (packet.type === "DIAL_REQ") patience.abort();
      answering(stream, packet);
    });
    await expect(dialThrough(frontend, "a:1", { signal: patience.signal })).rejects.toMatchObject({
      name: "AbortError",
    });
    expect(await streamEnded()).toMatchObject({ status: 0 });
  });
});

describe("a gRPC tunnel", () => {
  test.each<[string, (stream: PacketStream) => void, string]>([
    [
      "closes it with an error",
      (stream) => stream.control({ type: "CLOSE_RSP", connectId: ID, error: "oh" }),
      "was cut: oh",
    ],
    ["ends the call under it", (stream) => stream.end(), "it ended the stream"],
    ["drops the call", (stream) => stream.cancel(""), "was lost"],
  ])("fails when the server %s", async (_what, leave, words) => {
    let stream: PacketStream | undefined;
    const frontend = await startFrontend((opened, packet) => {
      stream = opened;
      answering(opened, packet);
    });
    const ending = readToEnd(await dialThrough(frontend, "a:1"));
    leave(stream!);
    expect((await ending).error?.message).toContain(words);
  });

  test("is no tunnel when it fails in the same turn as it is answered", async () => {
    const frontend = await startFrontend((stream, packet) => {
      accepting(stream, packet);
      stream.control({ type: "CLOSE_RSP", connectId: ID, error: "mismatched connection IDs" });
    });
    await expect(dialThrough(frontend, "a:1")).rejects.toThrow("mismatched connection IDs");
  });

  test("ignores bytes of connections that are not its own", async () => {
    const frontend = await startFrontend((stream, packet) => {
      accepting(stream, packet);
      stream.data(1, Buffer.from("not yours"));
      stream.data(ID, Buffer.from("yours"));
      stream.control({ type: "CLOSE_RSP", connectId: 1, error: "" });
      stream.control({ type: "CLOSE_RSP", connectId: ID, error: "" });
    });
    expect((await readToEnd(await dialThrough(frontend, "a:1"))).bytes.toString()).toBe("yours");
  });

  test("does not wait for ever for the answer to its CLOSE_REQ", async () => {
    const frontend = await startFrontend(accepting);
    const clock = new ManualClock();
    const options: InnerDialOptions = { runtime: clock };
    const socket = await dialThrough(frontend, "a:1", options);
    socket.destroy();
    clock.advance(10_000);
    await streamEnded();
  });

  test("is enough of a net.Socket", async () => {
    const frontend = await startFrontend(answering);
    const socket = await dialThrough(frontend, "[fd00::1]:443");
    expect(socket).toMatchObject({ remoteAddress: "fd00::1", remotePort: 443, connecting: false });
    expect(socket.setNoDelay().setKeepAlive(true, 1000).unref().ref()).toBe(socket);
    const idle = vi.fn();
    socket.setTimeout(20, idle);
    await once(socket, "timeout");
    expect(idle).toHaveBeenCalledTimes(1);
    socket.setTimeout(20, idle);
    socket.setTimeout(0, idle);
    expect(socket.listenerCount("timeout")).toBe(0);
    expect(socket.timeout).toBe(0);
    socket.write("four");
    expect(socket.bytesWritten).toBe(4);
    socket.destroySoon();
    await once(socket, "close");
    await streamEnded();
    expect(heard).toBe("four");
  });
});

describe("a gRPC tunnel that is cut", () => {
  const cutting: Script = (stream, packet) => {
    accepting(stream, packet);
    if (packet.type !== "DIAL_REQ") return;
    stream.data(ID, Buffer.from("what had come"));
    setTimeout(() => stream.control({ type: "CLOSE_RSP", connectId: ID, error: "the agent's stream ended" }), 20);
  };

  test("gives what had come before it fails, to a reader that takes its time", async () => {
    const socket = await dialThrough(await startFrontend(cutting), "a:1");
    await streamEnded();
    expect(socket.destroyed).toBe(false);
    const { bytes, error } = await readToEnd(socket);
    expect({ text: bytes.toString(), error }).toMatchObject({
      text: "what had come",
      error: { code: "DB_TUNNEL_CUT", message: expect.stringContaining("the agent's stream ended") },
    });
  });

  test("fails without a reader, too, when the time is up", async () => {
    const runtime = new ManualClock();
    const options: InnerDialOptions = { runtime };
    const socket = await dialThrough(await startFrontend(cutting), "a:1", options);
    await streamEnded();
    runtime.advance(9_999);
    expect(socket.destroyed).toBe(false);
    runtime.advance(1);
    expect(socket.errored).toMatchObject({ code: "DB_TUNNEL_CUT" });
  });

  test("tells the server why when it is reset", async () => {
    const socket = await dialThrough(await startFrontend(answering), "a:1");
    (socket as GrpcTunnel).resetAndDestroy();
    await streamEnded();
    expect(said.at(-1)).toMatchObject({ type: "CLOSE_REQ", error: "the caller's connection was lost" });
  });
});
