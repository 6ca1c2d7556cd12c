import { type Attack, BOUND_MIB } from "../attack.js";
import { Flag, FrameType, frame, PREFACE, ping, Setting, settings, uint32, windowUpdate } from "../raw/frames.js";
import { block, CONNECT_PATH, integer, literal, openCall, PROXY_PATH, requestBlock } from "../raw/headers.js";
import { message } from "../raw/packets.js";

/** What follows the preface and SETTINGS; each breaks a rule of RFC 9113 or RFC 7541 that must end the stream or the session. */
function malformed(path: string): Readonly<Record<string, Buffer>> {
  const headers = (fields: Buffer, flags: number = Flag.END_HEADERS, stream = 1) =>
    frame(FrameType.HEADERS, flags, stream, fields);
  const open = openCall(1, path, { agentid: "odd" });
  const with1 = (...frames: Buffer[]) => Buffer.concat([open, ...frames]);
  return {
    "DATA on stream 0": frame(FrameType.DATA, 0, 0, Buffer.of(1)),
    "DATA on an idle stream": frame(FrameType.DATA, 0, 9, Buffer.of(1)),
    "DATA after END_STREAM": with1(
      frame(FrameType.DATA, Flag.END_STREAM, 1),
      frame(FrameType.DATA, 0, 1, Buffer.of(1)),
    ),
    "DATA padded beyond its length": with1(frame(FrameType.DATA, Flag.PADDED, 1, Buffer.of(200, 1))),
    "a frame above the largest size": with1(frame(FrameType.DATA, 0, 1, Buffer.alloc(20_000))),
    "HEADERS on stream 0": headers(requestBlock(path), Flag.END_HEADERS, 0),
    "HEADERS on an even stream": headers(requestBlock(path), Flag.END_HEADERS, 2),
    "HEADERS padded beyond its length": headers(Buffer.of(200, 1), Flag.END_HEADERS | Flag.PADDED),
    "HEADERS with half a priority": headers(Buffer.of(0, 0), Flag.END_HEADERS | Flag.PRIORITY),
    "HEADERS on a stream lower than the last": Buffer.concat([openCall(9, path), openCall(3, path)]),
    "a second HEADERS without END_STREAM": with1(headers(block({ a: "b" }))),
    "PRIORITY of 4 bytes": frame(FrameType.PRIORITY, 0, 1, Buffer.alloc(4)),
    "PRIORITY on stream 0": frame(FrameType.PRIORITY, 0, 0, Buffer.alloc(5)),
    "RST_STREAM on stream 0": frame(FrameType.RST_STREAM, 0, 0, uint32(8)),
    "RST_STREAM of 3 bytes": with1(frame(FrameType.RST_STREAM, 0, 1, Buffer.alloc(3))),
    "RST_STREAM of an idle stream": frame(FrameType.RST_STREAM, 0, 7, uint32(8)),
    "SETTINGS of 5 bytes": frame(FrameType.SETTINGS, 0, 0, Buffer.alloc(5)),
    "SETTINGS on a stream": frame(FrameType.SETTINGS, 0, 1),
    "SETTINGS ACK with a payload": frame(FrameType.SETTINGS, Flag.ACK, 0, Buffer.alloc(6)),
    "ENABLE_PUSH of 2": settings([Setting.ENABLE_PUSH, 2]),
    "INITIAL_WINDOW_SIZE of 2^31": settings([Setting.INITIAL_WINDOW_SIZE, 2 ** 31]),
    "MAX_FRAME_SIZE of 1": settings([Setting.MAX_FRAME_SIZE, 1]),
    "MAX_FRAME_SIZE of 2^24": settings([Setting.MAX_FRAME_SIZE, 2 ** 24]),
    "PUSH_PROMISE from a client": frame(FrameType.PUSH_PROMISE, Flag.END_HEADERS, 1, Buffer.alloc(4)),
    "PING of 7 bytes": ping(Buffer.alloc(7)),
    "PING on a stream": frame(FrameType.PING, 0, 1, Buffer.alloc(8)),
    "GOAWAY on a stream": frame(FrameType.GOAWAY, 0, 1, Buffer.alloc(8)),
    "GOAWAY of 7 bytes": frame(FrameType.GOAWAY, 0, 0, Buffer.alloc(7)),
    "WINDOW_UPDATE of 0 on the session": windowUpdate(0, 0),
    "WINDOW_UPDATE of 0 on a stream": with1(windowUpdate(1, 0)),
    "WINDOW_UPDATE beyond 2^31": Buffer.concat([windowUpdate(0, 2 ** 31 - 1), windowUpdate(0, 2 ** 31 - 1)]),
    "WINDOW_UPDATE of 3 bytes": frame(FrameType.WINDOW_UPDATE, 0, 0, Buffer.alloc(3)),
    "CONTINUATION without HEADERS": frame(FrameType.CONTINUATION, Flag.END_HEADERS, 1, block({ a: "b" })),
    "PING between HEADERS and CONTINUATION": Buffer.concat([headers(requestBlock(path), 0), ping()]),
    "CONTINUATION of another stream": Buffer.concat([
      headers(requestBlock(path), 0),
      frame(FrameType.CONTINUATION, Flag.END_HEADERS, 3, block({ a: "b" })),
    ]),
    "HPACK: an index that is not there": headers(integer(5000, 7, 0x80)),
    "HPACK: index 0": headers(Buffer.of(0x80)),
    "HPACK: an integer without end": headers(Buffer.alloc(30, 0xff)),
    "HPACK: a text longer than the block": headers(Buffer.of(0, 0x7f, 0xff, 0x7f, 0x61)),
    "HPACK: a table larger than allowed": headers(Buffer.concat([integer(1 << 20, 5, 0x20), requestBlock(path)])),
    "HPACK: a table size behind a field": headers(Buffer.concat([requestBlock(path), integer(0, 5, 0x20)])),
    "HPACK: Huffman with EOS inside": headers(
      Buffer.concat([Buffer.of(0, 0x84), Buffer.alloc(4, 0xff), Buffer.of(1, 0x61)]),
    ),
    "no path": headers(block({ ":method": "POST", ":scheme": "http" })),
    "a pseudo-header behind a header": headers(Buffer.concat([requestBlock(path), literal(":path", "/again")])),
    "a name in capitals": headers(Buffer.concat([requestBlock(path), literal("Agentid", "x")])),
    "a line break in a value": headers(Buffer.concat([requestBlock(path), literal("agentid", "a\r\nb: c")])),
    "a message above 4 MiB": with1(frame(FrameType.DATA, 0, 1, message(Buffer.of(1), 1 << 30))),
    "a compressed message": with1(frame(FrameType.DATA, 0, 1, message(Buffer.of(1, 2, 3), 3, 1))),
    "no packet at all": with1(frame(FrameType.DATA, 0, 1, message(Buffer.alloc(40, 0xff)))),
  };
}

const NO_PREFACE: Readonly<Record<string, Buffer>> = {
  "HTTP/1.1 instead of HTTP/2": Buffer.from("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
  "a preface with one byte changed": Buffer.concat([Buffer.from(PREFACE).fill("X", 20, 21), settings()]),
  "no SETTINGS behind the preface": Buffer.concat([PREFACE, ping(), ping()]),
  garbage: Buffer.alloc(4096, 0xee),
};

function malformedSessions(at: "agents" | "grpc"): Attack {
  const [listener, path] = at === "agents" ? (["agents", CONNECT_PATH] as const) : (["grpc-uds", PROXY_PATH] as const);
  const sessions = {
    ...NO_PREFACE,
    ...Object.fromEntries(
      Object.entries(malformed(path)).map(([what, bytes]) => [what, Buffer.concat([PREFACE, settings(), bytes])]),
    ),
  };
  return {
    name: `malformed-sessions-${at}`,
    against: at === "agents" ? "agents' listener, as an agent" : "gRPC frontend, as a caller",
    description: `${Object.keys(sessions).length} kinds of sessions that break HTTP/2, HPACK or gRPC`,
    fixture: "server",
    boundMiB: BOUND_MIB,
    shortSeconds: 1.5,
    upstream: true,
    async run(target, work) {
      const one = async (bytes: Buffer) => {
        const socket = (await work.connect(target.listeners[listener]!))?.resume();
        if (!socket) return;
        await work.write(socket, bytes);
        await work.sleep(300);
        work.drop(socket);
      };
      const all = Object.values(sessions);
      for (let first = 0; !work.over; first = (first + 8) % all.length) {
        await Promise.all(all.slice(first, first + 8).map(one));
      }
    },
  };
}

export const malformedAttacks: readonly Attack[] = [malformedSessions("agents"), malformedSessions("grpc")];
