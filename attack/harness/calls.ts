/** Tunnels as an honest caller opens them, by CONNECT and by gRPC. */
import type { Socket } from "node:net";
import { PROXY_PATH } from "../raw/headers.js";
import { dataPacket, dialRequest, PacketType } from "../raw/packets.js";
import { RawPeer } from "../raw/peer.js";
import { connected, type Place } from "../raw/place.js";

export interface Tunnel {
  /** Sends the bytes and resolves once as many came back. */
  echo(bytes: Buffer): Promise<void>;
  close(): void;
}

/** A request that takes longer counts as not answered. */
export const ANSWER_WITHIN_MS = 15_000;

export async function byConnect(place: Place, address: string): Promise<Tunnel> {
  const socket = await connected(place, ANSWER_WITHIN_MS);
  const inbox = new Inbox(socket);
  let head = "";
  socket.on("data", (chunk: Buffer) => {
    if (head.includes("\r\n\r\n")) inbox.arrived(chunk.length);
    else {
      head += chunk.toString("latin1");
      if (head.includes("\r\n\r\n")) inbox.arrived(1);
    }
  });
  const answered = inbox.wait(1);
  socket.write(`CONNECT ${address} HTTP/1.1\r\nHost: ${address}\r\n\r\n`);
  await answered;
  if (!head.startsWith("HTTP/1.1 200")) {
    socket.destroy();
    throw new Error(`CONNECT ${address} was answered ${head.split("\r\n")[0]}`);
  }
  return {
    async echo(bytes) {
      const back = inbox.wait(bytes.length);
      socket.write(bytes);
      await back;
    },
    close: () => socket.destroy(),
  };
}

export async function byGrpc(place: Place, address: string): Promise<Tunnel> {
  const socket = await connected(place, ANSWER_WITHIN_MS);
  const inbox = new Inbox(socket);
  const peer = new RawPeer(socket, "client");
  let connectId = 0;
  peer.onPacket = ({ type, connectId: id, error, data }) => {
    if (type === PacketType.DATA) inbox.arrived(data.length);
    else if (type === PacketType.DIAL_RSP && error === "") {
      connectId = id;
      inbox.arrived(1);
    } else inbox.fail(new Error(`the tunnel to ${address} ended: packet ${type} ${error}`));
  };
  const answered = inbox.wait(1);
  peer.greet();
  peer.open(1, PROXY_PATH);
  peer.send(1, dialRequest(address, BigInt(1 + Math.floor(Math.random() * 2 ** 40))));
  await answered;
  return {
    async echo(bytes) {
      const back = inbox.wait(bytes.length);
      peer.send(1, dataPacket(connectId, bytes));
      await back;
    },
    close: () => socket.destroy(),
  };
}

/** Without authentication, the address as a name. */
export async function bySocks5(place: Place, address: string): Promise<Tunnel> {
  const socket = await connected(place, ANSWER_WITHIN_MS);
  const inbox = new Inbox(socket);
  let answered = 0;
  let head = Buffer.alloc(0);
  socket.on("data", (chunk: Buffer) => {
    if (answered === 2) return inbox.arrived(chunk.length);
    head = Buffer.concat([head, chunk]);
    if (answered === 0 && head.length >= 2) {
      head = head.subarray(2);
      answered = 1;
      inbox.arrived(1);
    }
    if (answered === 1 && head.length >= 10) {
      answered = 2;
      if (head[1] === 0) inbox.arrived(1);
      else inbox.fail(new Error(`SOCKS5 answered ${head[1]}`));
    }
  });
  const greeted = inbox.wait(1);
  socket.write(Buffer.of(5, 1, 0));
  await greeted;
  const [host = "", port = ""] = address.split(":");
  const connected5 = inbox.wait(1);
  socket.write(
    Buffer.concat([
      Buffer.of(5, 1, 0, 3, host.length),
      Buffer.from(host),
      Buffer.of(Number(port) >> 8, Number(port) & 255),
    ]),
  );
  await connected5;
  return {
    async echo(bytes) {
      const back = inbox.wait(bytes.length);
      socket.write(bytes);
      await back;
    },
    close: () => socket.destroy(),
  };
}

/** Not a tunnel: each echo is one fetch of a payload, on a connection of its own. */
export async function byFetch(place: Place, token: string): Promise<Tunnel> {
  return {
    async echo() {
      const socket = await connected(place, ANSWER_WITHIN_MS);
      const inbox = new Inbox(socket);
      let head = "";
      socket.on("data", (chunk: Buffer) => {
        if (head.includes("\r\n\r\n")) return;
        head += chunk.toString("latin1");
        if (head.includes("\r\n\r\n")) inbox.arrived(1);
      });
      const answered = inbox.wait(1);
      socket.write(`GET /ignition HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\n\r\n`);
      try {
        await answered;
        if (!head.startsWith("HTTP/1.1 200")) throw new Error(`the payload was answered ${head.split("\r\n")[0]}`);
      } finally {
        socket.destroy();
      }
    },
    close: () => {},
  };
}

/** Counts what arrives; one waits at a time. */
class Inbox {
  #missing = 0;
  #settle: { resolve(): void; reject(reason: Error): void } | undefined;
  #failed: Error | undefined;

  constructor(socket: Socket) {
    socket.once("close", () => this.fail(new Error("the connection was closed")));
    socket.once("end", () => this.fail(new Error("the connection was ended")));
  }

  arrived(bytes: number): void {
    this.#missing -= bytes;
    if (this.#missing <= 0) this.#settle?.resolve();
  }

  fail(reason: Error): void {
    this.#failed ??= reason;
    this.#settle?.reject(reason);
  }

  async wait(bytes: number): Promise<void> {
    if (this.#failed) throw this.#failed;
    this.#missing = bytes;
    let late: NodeJS.Timeout | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        this.#settle = { resolve, reject };
        late = setTimeout(() => reject(new Error(`no answer within ${ANSWER_WITHIN_MS} ms`)), ANSWER_WITHIN_MS);
      });
    } finally {
      clearTimeout(late);
      this.#settle = undefined;
    }
  }
}
