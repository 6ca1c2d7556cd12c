import { beforeEach, describe, expect, test } from "vitest";
import type { ControlPacket } from "../../wire/packet.js";
import { type FakeAgent, type FakeBoard, FakeStream, makeBoard } from "../testing/fakes.js";
import { GrpcCaller } from "./grpc-caller.js";

let fake: FakeBoard;
let agent: FakeAgent;
let stream: FakeStream;
let caller: GrpcCaller;
let closed: number;

beforeEach(() => {
  fake = makeBoard();
  agent = fake.agent("one");
  stream = new FakeStream();
  closed = 0;
  caller = new GrpcCaller(
    fake.board,
    () => stream.asStream,
    () => closed++,
  );
});

const dial = (random = 42n) => caller.onControl({ type: "DIAL_REQ", protocol: "tcp", address: "10.0.0.1:443", random });
const establish = (connectId = 5) => {
  dial();
  agent.answer(connectId);
  agent.stream.news();
  expect(stream.news()).toEqual([{ type: "DIAL_RSP", error: "", connectId, random: 42n }]);
};

describe("DIAL_REQ", () => {
  test("is forwarded unchanged and answered with the caller's ID and the agent's number", () => {
    dial();
    expect(agent.stream.packets).toEqual([{ type: "DIAL_REQ", protocol: "tcp", address: "10.0.0.1:443", random: 42n }]);
    agent.answer(5);
    expect(stream.packets).toEqual([{ type: "DIAL_RSP", error: "", connectId: 5, random: 42n }]);
  });

  test("the protocol is passed on as it is: refusing is the agent's business", () => {
    caller.onControl({ type: "DIAL_REQ", protocol: "udp", address: "a:1", random: 1n });
    expect(agent.stream.packets).toMatchObject([{ protocol: "udp" }]);
  });

  test("without an agent: upstream's text, and nothing more is listened to", () => {
    agent.lose();
    dial();
    expect(stream.news()).toMatchObject([
      { type: "DIAL_RSP", error: expect.stringMatching(/^No agent available/), connectId: 0, random: 42n },
    ]);
    dial(43n);
    caller.onData(5, Buffer.from("x"));
    caller.onControl({ type: "CLOSE_REQ", connectId: 5 });
    expect(stream.news()).toEqual([]);
  });

  test("the agent's error is passed on as it is", () => {
    dial();
    agent.fail("dial tcp 10.0.0.1:443: connect: connection refused");
    expect(stream.packets).toEqual([
      { type: "DIAL_RSP", error: "dial tcp 10.0.0.1:443: connect: connection refused", connectId: 0, random: 42n },
    ]);
  });

  test("DIAL_CLS from the agent is forwarded", () => {
    dial();
    agent.link.onControl({ type: "DIAL_CLS", random: 42n });
    expect(stream.packets).toEqual([{ type: "DIAL_CLS", random: 42n }]);
  });

  test("a deadline that passes: upstream's text", () => {
    dial();
    fake.clock.advance(30_000);
    expect(stream.packets).toMatchObject([{ type: "DIAL_RSP", error: "timed out waiting for backend dial" }]);
  });

  test("a second one on the same stream is refused and the first goes on", () => {
    establish();
    dial(43n);
    expect(stream.news()).toMatchObject([{ type: "DIAL_RSP", connectId: 0, random: 43n, error: expect.any(String) }]);
    caller.onData(5, Buffer.from("x"));
    expect(agent.stream.data_).toHaveLength(1);
  });
});

describe("DIAL_CLS", () => {
  test("while dialling cancels, here and at the agent", () => {
    dial();
    caller.onControl({ type: "DIAL_CLS", random: 42n });
    expect(agent.stream.packets.at(-1)).toEqual({ type: "DIAL_CLS", random: 42n });
    expect(fake.board.pendingDials).toBe(0);
    expect(stream.packets).toEqual([]);
  });

  test("for another dial is ignored", () => {
    dial();
    caller.onControl({ type: "DIAL_CLS", random: 1n });
    expect(fake.board.pendingDials).toBe(1);
  });

  test("that crosses our answer closes the connection nobody else would", () => {
    establish();
    caller.onControl({ type: "DIAL_CLS", random: 42n });
    expect(agent.stream.packets).toEqual([{ type: "CLOSE_REQ", connectId: 5 }]);
    expect(fake.board.establishedTunnels).toBe(0);
  });
});

describe("DATA", () => {
  test("before any dial: refused, and nothing more is listened to", () => {
    caller.onData(9, Buffer.from("x"));
    expect(stream.news()).toEqual([{ type: "CLOSE_RSP", connectId: 9, error: "backend not initialized" }]);
    dial();
    expect(agent.stream.packets).toEqual([]);
  });

  test("with connection number 0 is ignored", () => {
    caller.onData(0, Buffer.from("x"));
    expect(stream.packets).toEqual([]);
    establish();
    caller.onData(0, Buffer.from("x"));
    expect(stream.packets).toEqual([]);
  });

  test("goes to the agent; the agent's comes back", () => {
    establish();
    caller.onData(5, Buffer.from("ping"));
    expect(agent.stream.data_).toEqual([{ connectId: 5, bytes: Buffer.from("ping") }]);
    agent.link.onData(5, Buffer.from("pong"));
    agent.link.onSettle();
    expect(stream.data_).toEqual([{ connectId: 5, bytes: Buffer.from("pong") }]);
  });

  test("for another connection: both are closed towards the caller, once each, its own also at the agent", () => {
    establish();
    caller.onData(6, Buffer.from("x"));
    const error = "mismatched connection IDs";
    expect([...stream.packets].sort((a, b) => idOf(a) - idOf(b))).toEqual([
      { type: "CLOSE_RSP", connectId: 5, error },
      { type: "CLOSE_RSP", connectId: 6, error },
    ]);
    expect(agent.stream.packets).toEqual([{ type: "CLOSE_REQ", connectId: 5 }]);
    expect(agent.stream.data_).toEqual([]);
  });
});

const idOf = (packet: ControlPacket) => ("connectId" in packet ? Number(packet.connectId) : -1);

describe("CLOSE_REQ", () => {
  test("before any dial: refused, and the stream goes on", () => {
    caller.onControl({ type: "CLOSE_REQ", connectId: 9 });
    expect(stream.news()).toEqual([{ type: "CLOSE_RSP", connectId: 9, error: "backend uninitialized" }]);
    dial();
    expect(agent.stream.packets).toHaveLength(1);
  });

  test("is forwarded and answered once; the agent's own answer changes nothing", () => {
    establish();
    caller.onControl({ type: "CLOSE_REQ", connectId: 5 });
    agent.link.onControl({ type: "CLOSE_RSP", connectId: 5, error: "" });
    caller.onControl({ type: "CLOSE_REQ", connectId: 5 });
    expect(agent.stream.packets).toEqual([{ type: "CLOSE_REQ", connectId: 5 }]);
    expect(stream.packets).toEqual([{ type: "CLOSE_RSP", connectId: 5, error: "" }]);
  });
});

describe("the end of a gRPC caller", () => {
  test("the endpoint closes: CLOSE_RSP, and nothing back to the agent", () => {
    establish();
    agent.link.onControl({ type: "CLOSE_RSP", connectId: 5, error: "" });
    expect(stream.packets).toEqual([{ type: "CLOSE_RSP", connectId: 5, error: "" }]);
    expect(agent.stream.packets).toEqual([]);
  });

  test("the agent is lost: CLOSE_RSP with an error, for clients that look at it", () => {
    establish();
    agent.lose();
    expect(stream.packets).toEqual([{ type: "CLOSE_RSP", connectId: 5, error: "the agent's stream ended" }]);
  });

  test("the agent is lost while dialling: the caller is told at once", () => {
    dial();
    agent.lose();
    expect(stream.packets).toMatchObject([{ type: "DIAL_RSP", error: expect.stringContaining("context canceled") }]);
  });

  test.each(["ends its stream", "is gone"])("a caller that %s while dialling", (how) => {
    dial();
    if (how === "is gone") caller.onClosed({ status: 1, reason: "reset" });
    else caller.onRemoteEnd();
    expect(agent.stream.packets.at(-1)).toEqual({ type: "DIAL_CLS", random: 42n });
    expect(fake.board.pendingDials).toBe(0);
  });

  test.each(["ends its stream", "is gone"])("a caller that %s when connected", (how) => {
    establish();
    if (how === "ends its stream") caller.onRemoteEnd();
    caller.onClosed({ status: how === "is gone" ? 1 : 0, reason: "over" });
    expect(agent.stream.packets).toEqual([{ type: "CLOSE_REQ", connectId: 5 }]);
    expect([fake.board.establishedTunnels, closed]).toEqual([0, 1]);
  });

  test("an upstream agent's congestion pauses only this caller, and its drain resumes it", () => {
    establish();
    agent.stream.congested = true;
    caller.onData(5, Buffer.from("x"));
    expect(stream.paused).toBe(true);
    agent.stream.congested = false;
    agent.link.onDrain();
    expect(stream.paused).toBe(false);
  });
});
