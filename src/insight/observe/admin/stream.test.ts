/** The event stream, over real HTTP, with a role that the test plays. */
import { once } from "node:events";
import { createServer, IncomingMessage, request, type Server, ServerResponse } from "node:http";
import { type AddressInfo, connect, Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { listening } from "../../../tunnel/events/channels.js";
import type { ChangeEvent, SnapshotEvent, TunnelRow } from "./contract.js";
import { AdminModel } from "./model.js";
import { MAX_READERS, Readers, type ReadersOptions } from "./readers.js";
import { PlayedRole } from "./testing/role.js";

let role: PlayedRole;
let readers: Readers;
let server: Server;
const streams: { destroy(): void }[] = [];

async function serve(options: ReadersOptions = {}): Promise<void> {
  readers = new Readers(new AdminModel(role.parts), { lookMs: 20, ...options });
  server = createServer((_request, response) => readers.add(response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
}

/** The machine may be busy with other tests. */
const poll = <T>(get: () => T) => expect.poll(get, { timeout: 15_000 });

const port = () => (server.address() as AddressInfo).port;

beforeEach(() => {
  role = new PlayedRole();
});
afterEach(async () => {
  for (const stream of streams.splice(0)) stream.destroy();
  server.closeAllConnections();
  server.close();
  await once(server, "close");
});

interface ReceivedEvent {
  readonly name: string;
  readonly data: unknown;
}

/** A reader as a page is one: it keeps what the events tell it. */
class PageReader {
  readonly events: ReceivedEvent[] = [];
  readonly tunnels = new Map<number, TunnelRow>();
  #text = "";

  constructor(answer: IncomingMessage) {
    answer.setEncoding("utf8").on("data", (text: string) => this.#take(text));
    answer.on("error", () => {});
  }

  get changes(): ChangeEvent[] {
    return this.events.flatMap(({ name, data }) => (name === "change" ? [data as ChangeEvent] : []));
  }

  #take(text: string): void {
    this.#text += text;
    const frames = this.#text.split("\n\n");
    this.#text = frames.pop()!;
    for (const frame of frames) this.#hear(frame);
  }

  #hear(frame: string): void {
    const [, name, json] = /^event: (\w+)\ndata: (.*)$/.exec(frame)!;
    const data = JSON.parse(json!) as unknown;
    this.events.push({ name: name!, data });
    if (name === "snapshot") this.tunnels.clear();
    else if (name === "change") this.#apply(data as ChangeEvent);
  }

  #apply({ tunnels }: ChangeEvent): void {
    for (const tunnel of tunnels?.changed ?? []) this.tunnels.set(tunnel.id, tunnel);
    for (const id of tunnels?.gone ?? []) this.tunnels.delete(id);
  }
}

async function read(): Promise<PageReader> {
  const asked = request({ host: "127.0.0.1", port: port(), agent: false }).end();
  asked.on("error", () => {});
  streams.push(asked);
  const [answer] = (await once(asked, "response")) as [IncomingMessage];
  expect(answer.headers["content-type"]).toBe("text/event-stream; charset=utf-8");
  return new PageReader(answer);
}

/** Until the reader knows of all tunnels. */
const complete = (reader: PageReader) => poll(() => reader.tunnels.size).toBe(role.list.size);

const sameAsRole = (reader: PageReader) => expect(reader.tunnels).toEqual(role.list);

describe("a reader", () => {
  test("gets a whole snapshot first, with the tunnels in portions", async () => {
    for (let id = 1; id <= 450; id++) role.open(id);
    role.addAgent(1);
    role.end({ ...role.open(0), state: "closed" });
    role.list.delete(0);
    await serve();
    const reader = await read();
    await complete(reader);
    const [first] = reader.events;
    const snapshot = first!.data as SnapshotEvent;
    expect(first!.name).toBe("snapshot");
    expect(snapshot).toMatchObject({ process: { role: "server" }, agents: [{ key: 1 }] });
    expect(snapshot.ended.map(({ id }) => id)).toEqual([0]);
    expect(reader.changes.map(({ tunnels }) => tunnels?.changed.length)).toEqual([200, 200, 50]);
    const second = await read();
    await complete(second);
    expect(second.changes.map(({ tunnels }) => tunnels?.changed.length)).toEqual([200, 200, 50]);
    sameAsRole(reader);
  });

  test("gets only changes after the snapshot", async () => {
    for (let id = 1; id <= 3; id++) role.open(id);
    role.addAgent(1);
    role.addAgent(2);
    await serve();
    const reader = await read();
    await complete(reader);
    role.list.get(2)!.bytesToTarget = 100;
    role.list.get(2)!.marks = { dialled: 0.1, answered: 2.5 };
    role.list.delete(3);
    role.open(4);
    role.peers.shift();
    role.refusals.add({ id: "r", target: "a:1", why: "No agent is connected." });
    role.end({ ...role.open(9), state: "failed" });
    role.list.delete(9);
    await poll(() => reader.changes.length).toBe(2);
    expect(reader.changes[1]).toMatchObject({
      totals: { bytesToTarget: 100 },
      tunnels: {
        changed: [
          { id: 2, target: "10.0.0.1:2", bytesToTarget: 100, marks: { dialled: 0.1, answered: 2.5 } },
          { id: 4, target: "10.0.0.1:4" },
        ],
        gone: [3],
      },
      agents: { changed: [], gone: [1] },
      refusals: [{ id: "r" }],
      ended: [{ id: 9, state: "failed" }],
    });
    sameAsRole(reader);
  });

  test("gets listeners that are opened later", async () => {
    await serve();
    const reader = await read();
    const listener = { what: "agents", address: "127.0.0.1:8091" };
    listening.publish({ source: role.source, ...listener });
    await poll(() => reader.changes[0]?.listeners).toEqual([listener]);
  });

  test("gets 10,000 tunnels one portion per turn of the event loop", async () => {
    for (let id = 1; id <= 10_000; id++) role.open(id);
    await serve({ lookMs: 60_000 });
    const most = await role.mostInOneTurn(async () => {
      const reader = await read();
      await complete(reader);
      sameAsRole(reader);
    });
    expect(most).toBeLessThanOrEqual(201);
  });

  test("gets only alive events while nothing changes", async () => {
    let now = 0;
    await serve({ now: () => now });
    const reader = await read();
    await complete(reader);
    const looks = role.looks;
    await poll(() => role.looks).toBeGreaterThan(looks + 5);
    expect(reader.events.map(({ name }) => name)).toEqual(["snapshot"]);
    now = 15_001;
    await poll(() => reader.events.at(-1)?.name).toBe("alive");
  });

  test("that joins later continues from the same state as the others", async () => {
    for (let id = 1; id <= 300; id++) role.open(id);
    await serve();
    const first = await read();
    await complete(first);
    for (let id = 301; id <= 900; id++) role.open(id);
    const second = await read();
    for (let id = 1; id <= 900; id += 7) role.list.delete(id);
    for (const tunnel of role.list.values()) tunnel.bytesFromTarget += tunnel.id;
    for (const reader of [first, second]) {
      await poll(() => new Map([...reader.tunnels].sort(([one], [two]) => one - two))).toEqual(role.list);
    }
  });

  test("gets a thousand of many busy tunnels at a time, and none is forgotten", async () => {
    for (let id = 1; id <= 3_500; id++) role.open(id);
    await serve();
    const reader = await read();
    await complete(reader);
    for (const tunnel of role.list.values()) tunnel.bytesToTarget = 5;
    await poll(() => [...reader.tunnels.values()].filter((row) => row.bytesToTarget === 5).length).toBe(3_500);
    for (const { tunnels } of reader.changes) expect(tunnels!.changed.length).toBeLessThanOrEqual(1_000);
  });
});

describe("a tunnel that moves nothing", () => {
  test("is in a change event when it is paused, and when its dial goes to another agent", async () => {
    const stuck = role.open(1);
    const dialled = role.open(2);
    await serve();
    const reader = await read();
    await complete(reader);
    stuck.paused = true;
    dialled.agent = { key: 8, id: "another" };
    await poll(() => [reader.tunnels.get(1)?.paused, reader.tunnels.get(2)?.agent?.key]).toEqual([true, 8]);
    stuck.paused = false;
    await poll(() => reader.tunnels.get(1)?.paused).toBe(false);
  });
});

describe("the event stream without readers", () => {
  test("takes nobody who left while being admitted", async () => {
    await serve();
    const response = new ServerResponse(new IncomingMessage(new Socket()));
    response.destroy();
    readers.add(response);
    expect(readers.size).toBe(0);
  });

  test("never lists the tunnels", async () => {
    role.open(1);
    await serve();
    const reader = await read();
    await complete(reader);
    streams.pop()!.destroy();
    await poll(() => readers.size).toBe(0);
    const looks = role.looks;
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(role.looks).toBe(looks);
  });

  test("starts again with a snapshot for the next reader", async () => {
    role.open(1);
    await serve();
    await poll(async () => (await read()).events.length >= 0).toBe(true);
    streams.pop()!.destroy();
    await poll(() => readers.size).toBe(0);
    role.list.clear();
    role.open(2);
    const reader = await read();
    await complete(reader);
    sameAsRole(reader);
  });
});

describe("a reader that does not read", { timeout: 60_000 }, () => {
  /** Asks for the stream and takes nothing of it. */
  async function stop(): Promise<Socket> {
    const socket = connect({ host: "127.0.0.1", port: port() });
    streams.push(socket);
    socket.on("error", () => {});
    await once(socket, "connect");
    socket.pause();
    socket.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await poll(() => readers.size).toBe(1);
    return socket;
  }

  /**
   * Keeps every tunnel in motion until something has waited for the reader during 80 looks, because the kernel takes no
   * more; answers the most that ever waited.
   */
  async function keepBusy(): Promise<number> {
    let most = 0;
    let fullSince: number | undefined;
    const deadline = Date.now() + 40_000;
    while (fullSince === undefined || role.looks <= fullSince + 80) {
      if (Date.now() > deadline) throw new Error("nothing came of it");
      for (const tunnel of role.list.values()) tunnel.bytesToTarget += 1;
      most = Math.max(most, unsent());
      fullSince = unsent() > 0 ? (fullSince ?? role.looks) : undefined;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    return most;
  }

  const responses: { writableLength: number }[] = [];
  const unsent = () => Math.max(0, ...responses.map(({ writableLength }) => writableLength));

  beforeEach(() => {
    responses.length = 0;
    for (let id = 1; id <= 2_000; id++) role.open(id, `${"long-name.".repeat(20)}:${id}`);
  });

  test("costs bounded memory, and is disconnected", async () => {
    let now = 0;
    await serve({ lookMs: 5, now: () => now, unsentBytes: 256 * 1024 });
    server.prependListener("request", (_request, response) => responses.push(response));
    const socket = await stop();
    const most = await keepBusy();
    expect(readers.size).toBe(1);
    // The bound, one portion of the snapshot, one frame.
    expect(most).toBeLessThan(640 * 1024);
    now = 30_001;
    await poll(() => readers.size).toBe(0);
    socket.resume();
    await once(socket, "close");
  });

  test("gets a new snapshot once it reads again", async () => {
    await serve({ lookMs: 5, unsentBytes: 64 * 1024 });
    server.prependListener("request", (_request, response) => responses.push(response));
    const asked = request({ host: "127.0.0.1", port: port(), agent: false }).end();
    streams.push(asked.on("error", () => {}));
    const [answer] = (await once(asked, "response")) as [IncomingMessage];
    await keepBusy();
    const reader = new PageReader(answer);
    await poll(() => reader.events.filter(({ name }) => name === "snapshot").length).toBe(2);
    await complete(reader);
    await poll(() =>
      [...reader.tunnels.values()].every((row) => row.bytesToTarget === role.list.get(row.id)!.bytesToTarget),
    ).toBe(true);
    sameAsRole(reader);
  });

  test("is refused when there are too many readers", async () => {
    await serve();
    for (let count = 0; count < MAX_READERS; count++) {
      expect(readers.full).toBe(false);
      await read();
    }
    expect(readers.full).toBe(true);
  });
});
