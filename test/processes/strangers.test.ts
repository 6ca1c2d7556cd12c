/** Peers that break the protocol: their stream ends, everything else goes on. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { agentDuplicateServer, serverAgentConnected, streamError } from "../../src/tunnel/events/channels.js";
import { encodePacket } from "../../src/tunnel/wire/encode.js";
import { readExactly } from "../support/callers/bytes.js";
import { waitUntil } from "../support/processes/deadline.js";
import { startEcho } from "../support/targets/echo.js";
import type { Target } from "../support/targets/listener.js";
import { tunnelTo } from "./fixture/connect.js";
import { type Fixture, openFixture } from "./fixture/fixture.js";
import { END_HEADERS, type FramePeer, FrameType, fields, frame, framePeer, request } from "./fixture/frames.js";
import { type RawPeer, rawAgent, rawCaller } from "./fixture/grpc.js";

let fixture: Fixture;
let echo: Target;
let witness: Awaited<ReturnType<typeof tunnelTo>>;
const peers: { close(): void }[] = [];

beforeAll(async () => {
  // The strangers must not be chosen for the witness's dials.
  fixture = await openFixture({
    server: { strategies: ["defaultRoute"] },
    agent: { identifiers: "default-route=true" },
  });
  echo = await startEcho();
  witness = await tunnelTo(fixture, echo.address);
});

afterEach(async () => {
  for (const peer of peers.splice(0)) peer.close();
  // What the server says of them must not be taken for the next test's doing.
  await waitUntil("the strangers to be gone", () => {
    const { Proxy: callers, Connect: agents } = fixture.server.readings().grpcConnections();
    return callers === 0 && agents === 1 && fixture.server.board.establishedTunnels === 1;
  });
});

afterAll(async () => {
  witness.destroy();
  await fixture.close();
  await echo.close();
});

/** A tunnel that stood before, and one made now, both work. */
async function othersGoOn(): Promise<void> {
  const fresh = await tunnelTo(fixture, echo.address);
  for (const socket of [witness, fresh]) {
    socket.write("fine");
    expect((await readExactly(socket, 4)).toString()).toBe("fine");
  }
  fresh.destroy();
}

async function open(frontend: "agent" | "caller"): Promise<RawPeer> {
  const peer = frontend === "agent" ? rawAgent(fixture) : rawCaller(fixture);
  peers.push(peer);
  await peer.headers;
  return peer;
}

function message(body: Buffer, flag = 0): Buffer {
  const prefix = Buffer.alloc(5);
  prefix[0] = flag;
  prefix.writeUInt32BE(body.length, 1);
  return Buffer.concat([prefix, body]);
}

const oversized = Buffer.from([0, 0x00, 0x40, 0x00, 0x01]);

const insults: Record<string, { bytes: Buffer; status: string }> = {
  "an empty message": { bytes: message(Buffer.alloc(0)), status: "13" },
  "a packet without its payload": { bytes: message(Buffer.from([0x08, 0x01])), status: "13" },
  "a payload of another kind": { bytes: message(Buffer.from([0x08, 0x01, 0x2a, 0x02, 0x08, 0x07])), status: "13" },
  "an oversized message": { bytes: oversized, status: "8" },
  "a compressed message": { bytes: message(Buffer.from([1, 2, 3]), 1), status: "12" },
  "garbage fields": {
    bytes: message(Buffer.from([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff])),
    status: "13",
  },
  "text that is not UTF-8": { bytes: message(Buffer.from([0x12, 0x04, 0x12, 0x02, 0xc3, 0x28])), status: "13" },
};

for (const frontend of ["agent", "caller"] as const) {
  describe(`on ${frontend === "agent" ? "an agent's" : "a gRPC caller's"} stream`, () => {
    for (const [what, { bytes, status }] of Object.entries(insults)) {
      test(`${what}: that stream ends with status ${status}`, async () => {
        const peer = await open(frontend);
        peer.raw(bytes);
        const end = await waitUntil("the stream to end", () => peer.ended());
        expect(end.grpcStatus).toBe(status);
        await othersGoOn();
      });
    }

    test("a packet type nobody knows is ignored", async () => {
      const peer = await open(frontend);
      peer.raw(message(Buffer.from([0x08, 0x63])));
      peer.send({ type: "DIAL_RSP", error: "", connectId: 7, random: 1n });
      if (frontend === "agent")
        await waitUntil("an answer", () => peer.packets.some(({ type }) => type === "CLOSE_REQ"));
      else {
        peer.send({ type: "CLOSE_REQ", connectId: 3 });
        await waitUntil("an answer", () => peer.packets.some(({ type }) => type === "CLOSE_RSP"));
      }
      expect(peer.ended()).toBeUndefined();
      await othersGoOn();
    });

    const path = frontend === "agent" ? "/AgentService/Connect" : "/ProxyService/Proxy";
    const openStream = async (): Promise<FramePeer> => {
      const peer = await framePeer(fixture, frontend);
      peers.push({ close: () => peer.socket.destroy() });
      peer.write(frame(FrameType.HEADERS, END_HEADERS, 1, request(path, { agentid: "frames" })));
      await waitUntil("the answer's headers", () => peer.received.some(({ type }) => type === FrameType.HEADERS));
      return peer;
    };

    test("garbage instead of frames ends that session only", async () => {
      const peer = await openStream();
      peer.write(Buffer.alloc(64 * 1024, 0xee));
      await othersGoOn();
      await waitUntil("the session to end", () => peer.closed);
    });

    test("a second HEADERS in the middle ends that stream", async () => {
      const peer = await openStream();
      peer.write(frame(FrameType.HEADERS, END_HEADERS, 1, fields({ agentid: "again" })));
      await waitUntil(
        "the stream to end",
        () => peer.closed || peer.received.some(({ type }) => type === FrameType.RST_STREAM),
      );
      await othersGoOn();
    });

    test("a hundred calls reset in the segment that opens them", async () => {
      const peer = await openStream();
      const before = fixture.server.board.registry.size;
      for (const each of [path, "/Nobody/Knows"]) {
        const calls: Buffer[] = [];
        const first = each === path ? 3 : 1003;
        for (let id = first; id < first + 200; id += 2) {
          calls.push(frame(FrameType.HEADERS, END_HEADERS, id, request(each, { agentid: "frames" })));
          calls.push(frame(FrameType.RST_STREAM, 0, id, Buffer.from([0, 0, 0, 8])));
        }
        peer.write(...calls);
      }
      await othersGoOn();
      await waitUntil("no trace of them", () => fixture.server.board.registry.size <= before);
      peer.socket.destroy();
    });
  });
}

describe("metadata", () => {
  test.each<[string, Record<string, string | string[]>, string]>([
    ["no agent ID", {}, "expected one agent ID in the context, got []"],
    ["two agent IDs", { agentid: ["a", "b"] }, "expected one agent ID in the context, got [a b]"],
    ["a semicolon", { agentid: "a", agentidentifiers: "host=a;host=b" }, "invalid semicolon separator in query"],
    ["a bad escape", { agentid: "a", agentidentifiers: "host=%zz" }, "invalid URL escape"],
    ["two sets of identifiers", { agentid: "a", agentidentifiers: ["host=a", "host=b"] }, "agent identifiers"],
  ])("%s: refused with status 2", async (_what, metadata, text) => {
    const peer = rawAgent(fixture, metadata);
    peers.push(peer);
    const headers = await peer.headers;
    expect(headers["grpc-status"]).toBe("2");
    expect(decodeURIComponent(String(headers["grpc-message"]))).toContain(text);
    await othersGoOn();
  });

  test("no identifiers and unknown ones are fine, and upstream is never offered our features", async () => {
    const peer = rawAgent(fixture, { agentid: "a", agentidentifiers: "uid=5&planet=mars" });
    peers.push(peer);
    const headers = await peer.headers;
    expect(headers).toMatchObject({ serverid: "fixture", servercount: "1" });
    expect(Object.keys(headers).filter((name) => name.startsWith("drawbridge"))).toEqual([]);
  });

  test("an agent of ours hears how many have the same identifiers, itself included", async () => {
    const said = { "drawbridge-features": "1;credit,end-of-stream" };
    const numberFor = async (agentid: string, agentidentifiers: string) => {
      const peer = rawAgent(fixture, { agentid, agentidentifiers, ...said });
      peers.push(peer);
      return (await peer.headers)["drawbridge-searchers"];
    };
    expect(await numberFor("w1", "host=same.test")).toBe("1");
    expect(await numberFor("w2", "host=same.test")).toBe("2");
    expect(await numberFor("c1", "host=other.test")).toBe("1");
    expect(await numberFor("w1", "host=same.test")).toBe("2");
  });
});

test("a search that leads to a server that is connected already leaves no trace there", async () => {
  const { server } = fixture;
  let came = 0;
  const end = serverAgentConnected.subscribe(() => came++, server);
  const agent = fixture.launchAgent({ agentId: "searcher", syncForever: true });
  let duplicates = 0;
  const endDuplicates = agentDuplicateServer.subscribe(() => duplicates++, agent);
  try {
    await waitUntil("a few duplicates", () => duplicates >= 3);
    expect(came).toBe(1);
    expect([...server.board.registry.links()].filter(({ identity }) => identity.agentId === "searcher")).toHaveLength(
      1,
    );
  } finally {
    end();
    endDuplicates();
    await agent.stop();
  }
});

describe("one agent with many streams", () => {
  test("counts once in the choice, whatever its streams call themselves", async () => {
    const peer = await framePeer(fixture, "agent");
    peers.push({ close: () => peer.socket.destroy() });
    const { registry } = fixture.server.board;
    const calls = Array.from({ length: 50 }, (_, index) =>
      frame(
        FrameType.HEADERS,
        END_HEADERS,
        2 * index + 1,
        request("/AgentService/Connect", { agentid: `many-${index}` }),
      ),
    );
    peer.write(...calls);
    await waitUntil("all of them to be in", () => registry.size === 51);
    expect(registry.agents).toBe(2);
  });
});

describe("a caller that ends its stream in good order", () => {
  test("gets the last word it was owed, status 0, and no error is counted", async () => {
    const errors: string[] = [];
    const unsubscribe = streamError.subscribe(({ code }) => errors.push(code), fixture.server);
    const peer = await open("caller");
    peer.stream.end(encodePacket({ type: "DATA", connectId: 9, data: Buffer.from("x") }));
    const end = await waitUntil("the stream to end", () => peer.ended());
    unsubscribe();
    expect(peer.packets).toEqual([{ type: "CLOSE_RSP", connectId: 9, error: "backend not initialized" }]);
    expect([end, errors]).toEqual([{ grpcStatus: "0" }, []]);
  });

  test("while its tunnel is open has its endpoint closed and gets status 0", async () => {
    const errors: string[] = [];
    const unsubscribe = streamError.subscribe(({ code }) => errors.push(code), fixture.server);
    const before = fixture.server.board.establishedTunnels;
    const peer = await open("caller");
    peer.send({ type: "DIAL_REQ", protocol: "tcp", address: echo.address, random: 4n });
    await waitUntil("the dial", () => peer.packets.some(({ type }) => type === "DIAL_RSP"));
    peer.stream.end();
    const end = await waitUntil("the stream to end", () => peer.ended());
    await waitUntil("the tunnel to be over", () => fixture.server.board.establishedTunnels === before);
    unsubscribe();
    expect([end, errors]).toEqual([{ grpcStatus: "0" }, []]);
  });
});
