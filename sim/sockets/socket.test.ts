/**
 * The model is held against what it models: each script is played with real sockets and with simulated ones, and every end
 * has to tell the same story.
 */
import net, { type Socket } from "node:net";
import tls, { type SecureContextOptions } from "node:tls";
import { beforeAll, describe, expect, test } from "vitest";
import { createAuthority, issueCertificate } from "../../src/tunnel/pki/issue.js";
import { Host } from "../world/host.js";
import { World } from "../world/world.js";
import { Network } from "./network.js";

/** Two ends of one connection. Both allow half-open connections, unless the script says otherwise. */
interface Pair {
  readonly client: Socket;
  readonly server: Socket;
  /** Until it is true; time passes meanwhile. */
  until(what: string, isTrue: () => boolean): Promise<void>;
  /** As long as anything that is on its way can take. */
  quiet(): Promise<void>;
  close(): void;
}

type Kind = "plain" | "tls";

interface Script {
  readonly name: string;
  readonly kinds: readonly Kind[];
  readonly allowHalfOpen?: boolean;
  readonly play: (pair: Pair, stories: { client: Story; server: Story }) => Promise<void>;
}

/** Events of one end. Bytes that come one after the other are added up, since nobody can know how they are divided. */
class Story {
  readonly lines: string[] = [];
  bytes = 0;
  #dataAt = -1;

  constructor(socket: Socket, isReading = true) {
    if (isReading) socket.on("data", (chunk: Buffer) => this.data(chunk.length));
    socket.on("end", () => this.tell("end"));
    socket.on("finish", () => this.tell("finish"));
    socket.on("drain", () => this.tell("drain"));
    socket.on("error", (error: NodeJS.ErrnoException) => this.tell(`error ${error.code}`));
    socket.on("close", (hadError: boolean) => this.tell(`close ${hadError}`));
  }

  data(length: number): void {
    this.bytes += length;
    if (this.#dataAt === this.lines.length - 1 && this.#dataAt >= 0) this.lines[this.#dataAt] = `data ${this.bytes}`;
    else {
      this.#dataAt = this.lines.length;
      this.lines.push(`data ${this.bytes}`);
    }
  }

  tell(line: string): void {
    this.lines.push(line);
  }

  has(line: string): boolean {
    return this.lines.some((each) => each.startsWith(line));
  }
}

/** More than two kernels hold on any machine. */
const MUCH = Buffer.alloc(24_000_000, "m");
const LITTLE = Buffer.alloc(1_000, "l");

const SCRIPTS: readonly Script[] = [
  {
    name: "both send and end, one after the other",
    kinds: ["plain", "tls"],
    async play({ client, server, until }, stories) {
      client.end(LITTLE);
      await until("the client's end", () => stories.server.has("end"));
      server.end(LITTLE);
      await until("both closes", () => stories.client.has("close") && stories.server.has("close"));
    },
  },
  {
    name: "an end that does not allow half-open connections ends with the other",
    kinds: ["plain"],
    allowHalfOpen: false,
    async play({ client, until }, stories) {
      client.end(LITTLE);
      await until("both closes", () => stories.client.has("close") && stories.server.has("close"));
    },
  },
  {
    name: "more than the kernel takes at once needs a drain",
    kinds: ["plain", "tls"],
    async play({ client, server, until, quiet }, stories) {
      server.pause();
      stories.client.tell(`write ${client.write(MUCH)}`);
      await quiet();
      stories.client.tell(`needs drain ${client.writableNeedDrain}, some is left ${client.writableLength > 0}`);
      server.resume();
      await until("the drain", () => stories.client.has("drain"));
      stories.client.tell(`left ${client.writableLength}`);
      await until("all bytes", () => stories.server.bytes === MUCH.length);
    },
  },
  {
    name: "a small write leaves nothing behind, and its callback comes before the next turn",
    kinds: ["plain"],
    async play({ client, until }, stories) {
      client.write(LITTLE, () => stories.client.tell("written"));
      stories.client.tell(`left ${client.writableLength}`);
      await until("all bytes", () => stories.server.bytes === LITTLE.length && stories.client.has("written"));
    },
  },
  {
    name: "corked writes are one, and their callbacks come in order",
    kinds: ["plain", "tls"],
    async play({ client, until }, stories) {
      client.cork();
      for (let i = 0; i < 3; i++) client.write(LITTLE, () => stories.client.tell(`written ${i}`));
      stories.client.tell(`left ${client.writableLength}`);
      client.uncork();
      await until("all", () => stories.server.bytes === 3 * LITTLE.length && stories.client.has("written 2"));
    },
  },
  {
    name: "bytes that came before a pause was lifted come before the end",
    kinds: ["plain", "tls"],
    async play({ client, server, quiet, until }, stories) {
      server.pause();
      client.end(LITTLE);
      await quiet();
      stories.server.tell("resumes");
      server.resume();
      await until("the end", () => stories.server.has("end"));
      server.end();
      await until("both closes", () => stories.client.has("close") && stories.server.has("close"));
    },
  },
  {
    name: "destroySoon sends what was written first",
    kinds: ["plain", "tls"],
    async play({ client, server, until }, stories) {
      client.write(MUCH);
      client.destroySoon();
      await until("the client's close", () => stories.client.has("close"));
      await until("the end", () => stories.server.has("end"));
      server.end();
      await until("the server's close", () => stories.server.has("close"));
    },
  },
  {
    name: "destroy forgets what the kernel has not taken",
    kinds: ["plain"],
    async play({ client, server, until, quiet }, stories) {
      server.pause();
      client.write(MUCH, (error) => stories.client.tell(`written ${error ? "not" : ""}`));
      await quiet();
      client.destroy();
      await until("the client's close", () => stories.client.has("close"));
      server.resume();
      await until("the end", () => stories.server.has("end"));
      stories.server.tell(`whole ${stories.server.bytes === MUCH.length}`);
      stories.server.lines[0] = "data";
    },
  },
  {
    name: "closing with bytes unread resets the other end",
    kinds: ["plain"],
    async play({ client, server, until, quiet }, stories) {
      server.pause();
      client.write(MUCH);
      await quiet();
      server.destroy();
      await until("both closes", () => stories.client.has("close") && stories.server.has("close"));
    },
  },
  {
    name: "a reset is an error at the other end, after the bytes that had arrived",
    kinds: ["plain"],
    async play({ client, server, until, quiet }, stories) {
      server.pause();
      client.write(LITTLE);
      await quiet();
      client.resetAndDestroy();
      await quiet();
      server.resume();
      await until("both closes", () => stories.client.has("close") && stories.server.has("close"));
    },
  },
  {
    name: "a reset is not noticed by an end that does not read, until it writes",
    kinds: ["plain"],
    async play({ client, server, until, quiet }, stories) {
      server.pause();
      client.write(LITTLE);
      await quiet();
      client.resetAndDestroy();
      await quiet();
      stories.server.tell("writes");
      server.write(LITTLE, (error) => stories.server.tell(`written ${error ? "not" : ""}`));
      await until("both closes", () => stories.client.has("close") && stories.server.has("close"));
    },
  },
  {
    name: "writing to an end that has closed becomes an error",
    kinds: ["plain"],
    async play({ client, server, until, quiet }, stories) {
      server.destroy();
      await quiet();
      client.write(LITTLE);
      await quiet();
      client.write(LITTLE);
      await until("both closes", () => stories.client.has("close") && stories.server.has("close"));
      stories.client.lines.splice(0, stories.client.lines.length, ...stories.client.lines.map(eitherBroken));
    },
  },
  {
    name: "an end of an end that has ended already closes both",
    kinds: ["plain", "tls"],
    async play({ client, server, until }, stories) {
      client.end();
      server.end();
      await until("both closes", () => stories.client.has("close") && stories.server.has("close"));
    },
  },
  {
    name: "destroying an end that has sent everything is an end at the other",
    kinds: ["plain", "tls"],
    async play({ client, server, until }, stories) {
      client.write(LITTLE);
      await until("the bytes", () => stories.server.bytes === LITTLE.length);
      client.destroy();
      await until("the end", () => stories.server.has("end"));
      server.end();
      await until("both closes", () => stories.client.has("close") && stories.server.has("close"));
    },
  },
];

/** Which of the two it is depends on what the kernel learnt first. */
const eitherBroken = (line: string): string => line.replace(/EPIPE|ECONNRESET/, "EPIPE or ECONNRESET");

let secrets: SecureContextOptions;

beforeAll(async () => {
  const issuer = await createAuthority({ commonName: "the-ca" });
  const wanted = { use: "server", commonName: "server", dnsNames: ["localhost"] } as const;
  const { certificatePem, privateKeyPem } = await issueCertificate(issuer, wanted);
  secrets = { cert: certificatePem, key: privateKeyPem };
});

async function realPair(kind: Kind, allowHalfOpen: boolean): Promise<Pair> {
  let accepted: (socket: Socket) => void = () => {};
  const whenAccepted = new Promise<Socket>((resolve) => {
    accepted = resolve;
  });
  const listener =
    kind === "tls"
      ? tls.createServer({ ...secrets, allowHalfOpen }, (socket) => accepted(socket))
      : net.createServer({ allowHalfOpen }, (socket) => accepted(socket));
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  const { port } = listener.address() as net.AddressInfo;
  const where = { port, host: "127.0.0.1", allowHalfOpen };
  const client =
    kind === "tls"
      ? tls.connect({ ...where, rejectUnauthorized: false, socket: net.connect(where), ...{ allowHalfOpen } })
      : net.connect(where);
  await new Promise((resolve) => client.once(kind === "tls" ? "secureConnect" : "connect", resolve));
  const server = await whenAccepted;
  // TLS servers send session tickets after the handshake: the client has read them when it has read what comes behind.
  if (kind === "tls") {
    server.write("x");
    await new Promise((resolve) => client.once("data", resolve));
  }
  const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
  return {
    client,
    server,
    async until(what, isTrue) {
      const before = performance.now();
      while (!isTrue()) {
        if (performance.now() - before > 10_000) throw new Error(`waited in vain for ${what}`);
        await pause(1);
      }
    },
    quiet: async () => void (await pause(100)),
    close() {
      client.destroy();
      server.destroy();
      listener.close();
    },
  };
}

async function simulatedPair(kind: Kind, allowHalfOpen: boolean, seed: number): Promise<Pair> {
  const world = new World({ seed });
  const network = new Network(world, {
    latencyMs: [0.01, 3],
    bufferBytes: [50_000, 2_000_000],
    segmentBytes: [5_000, 65_536],
    timerLatenessMs: 0,
  });
  const encrypted = kind === "tls";
  let server: Socket | undefined;
  network.listen("server:1", {
    host: new Host(world, "server"),
    allowHalfOpen,
    accept: (socket) => {
      server = socket as unknown as Socket;
    },
  });
  const client = network.connect(new Host(world, "client"), "server:1", { allowHalfOpen, encrypted });
  const run = (ms: number) => world.run(world.now + ms);
  await run(20);
  const until: Pair["until"] = async (what, isTrue) => {
    for (let times = 0; !isTrue(); times++) {
      if (times > 10_000) throw new Error(`waited in vain for ${what}`);
      await run(1);
      if (world.failure !== undefined) throw new Error(world.failure.message);
    }
  };
  return { client: client as unknown as Socket, server: server!, until, quiet: () => run(100), close() {} };
}

async function told(script: Script, pair: Pair): Promise<Record<"client" | "server", string[]>> {
  const stories = { client: new Story(pair.client), server: new Story(pair.server) };
  try {
    await script.play(pair, stories);
    await pair.quiet();
    // Without what follows when the pair is closed.
    return { client: [...stories.client.lines], server: [...stories.server.lines] };
  } catch (reason) {
    throw new Error(`${String(reason)}: ${JSON.stringify([stories.client.lines, stories.server.lines])}`);
  } finally {
    pair.close();
  }
}

describe.each(["plain", "tls"] as const)("%s sockets", (kind) => {
  for (const script of SCRIPTS) {
    if (!script.kinds.includes(kind)) continue;
    test(script.name, async () => {
      const allowHalfOpen = script.allowHalfOpen ?? true;
      const real = await told(script, await realPair(kind, allowHalfOpen));
      for (let seed = 1; seed <= 10; seed++) {
        expect(await told(script, await simulatedPair(kind, allowHalfOpen, seed)), `seed ${seed}`).toEqual(real);
      }
    });
  }
});
