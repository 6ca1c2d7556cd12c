import { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import { expect, test } from "vitest";
import { ManualClock } from "../../base/testing/manual-clock.js";
import { DEFAULT_LIMITS } from "../connection/budget.js";
import { FrameFlag, FrameType, frame, goaway, settings, uint32s } from "../link/h2/frames.js";
import { encodeHeaders } from "../link/h2/hpack.js";
import { ProxyAgent } from "./agent.js";

const NOWHERE = { host: "", port: 0, tokenFile: "", profiling: false };

const { END_HEADERS, END_STREAM } = FrameFlag;
const answer = frame(
  FrameType.HEADERS,
  END_HEADERS,
  1,
  encodeHeaders([
    [":status", "200"],
    ["serverid", "s1"],
    ["servercount", "1"],
  ]),
);
const end = frame(FrameType.HEADERS, END_HEADERS | END_STREAM, 1, encodeHeaders([["grpc-status", "0"]]));
const reset = frame(FrameType.RST_STREAM, 0, 1, uint32s(0));

/** A server that says all of it in one piece as soon as it is called. */
class HastyServer extends Duplex {
  readonly #words: Buffer;
  #hasSpoken = false;

  constructor(words: Buffer) {
    super();
    this.#words = words;
    this.push(settings([]));
  }

  override _read(): void {}

  override _write(_chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    if (!this.#hasSpoken) setImmediate(() => this.push(this.#words));
    this.#hasSpoken = true;
    done();
  }
}

test.each([
  ["ends its call", [answer, end]],
  ["ends and resets its call", [answer, end, reset]],
  ["says that it goes away", [answer, goaway(1, 0, "")]],
])("a server that %s right behind its headers is not counted, and looked for again", async (_, words) => {
  const runtime = new ManualClock();
  let attempts = 0;
  const agent = new ProxyAgent(
    {
      ...{ agentId: "a1", identifiers: "", servers: [{ host: "s", port: 1 }], tokenFile: "" },
      tls: { caFile: "", certFile: "", keyFile: "", alpn: [] },
      ...{ syncIntervalMs: 100, syncIntervalCapMs: 100, probeIntervalMs: 100, syncForever: false },
      ...{ serverCountSource: "default", xfrChannelSize: 150, warnOnChannelLimit: false, headerTimeoutMs: 1_000 },
      ...{ drainTimeoutMs: 0, timeBoxed: false, allow: [], deny: [], health: NOWHERE, admin: NOWHERE },
      ...{ keepaliveMs: 30_000, limits: DEFAULT_LIMITS },
    },
    {
      runtime,
      reach: async () => {
        attempts++;
        const socket = new HastyServer(Buffer.concat(words)) as unknown as TLSSocket;
        return { socket, facts: () => ({ where: "s:1", name: "s", self: "this agent", peer: [], own: [] }) as never };
      },
    },
  );
  agent.start();
  for (let turn = 0; turn < 200 && attempts < 3; turn++) {
    runtime.advance(50);
    for (let ticks = 0; ticks < 5; ticks++) await new Promise(setImmediate);
  }
  expect(attempts).toBe(3);
  const stopped = agent.stop();
  for (let turn = 0; turn < 200 && runtime.waiting.length > 0; turn++) {
    runtime.advance(1_000);
    for (let ticks = 0; ticks < 5; ticks++) await new Promise(setImmediate);
  }
  await stopped;
  expect([runtime.waiting, [...agent.links()]]).toEqual([[], []]);
});
