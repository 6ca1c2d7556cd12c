/** One question to one DNS server: by UDP from a socket of its own, by TCP when the answer does not fit into a datagram. */
import { randomInt } from "node:crypto";
import { createSocket } from "node:dgram";
import { connect, isIPv6 } from "node:net";
import type { Duplex } from "node:stream";
import { systemClock } from "../../base/clock.js";
import { type AddressType, answersTo, type DnsAnswer, decodeAnswer, encodeQuery } from "../wire/dns.js";
import type { NameServer } from "./system-files.js";

/** Longest datagram that gets through every network in one piece; Go announces the same. */
const DATAGRAM_BYTES = 1232;

/** How long the answer to a datagram may take before the question is sent again: one of the two may be lost. */
const AGAIN_MS = 1_000;

/** Rejects with the socket's error, or with the reason of `stop`, which every question needs: a datagram can be lost. */
export async function askServer(
  server: NameServer,
  name: string,
  type: AddressType,
  stop: AbortSignal,
): Promise<DnsAnswer> {
  const answer = await askByUdp(server, name, type, stop);
  if (!answer.truncated) return answer;
  const stream = connect({ host: server.address, port: server.port });
  return (await exchangeDns(stream, name, [type], stop)).get(type)!;
}

function askByUdp(server: NameServer, name: string, type: AddressType, stop: AbortSignal): Promise<DnsAnswer> {
  return new Promise((resolve, reject) => {
    const id = randomInt(0x1_0000);
    const query = encodeQuery(id, name, type, DATAGRAM_BYTES);
    if (query === undefined) throw new Error(`${name} is not a domain name`);
    stop.throwIfAborted();
    const socket = createSocket({
      type: isIPv6(server.address) ? "udp6" : "udp4",
      // It is an address already.
      lookup: (address, _options, done) => done(null, address, isIPv6(address) ? 6 : 4),
    });
    let cancelAgain = (): void => {};
    const ask = (): void => {
      socket.send(query);
      cancelAgain = systemClock.after(AGAIN_MS, ask);
    };
    const end = (settle: () => void): void => {
      cancelAgain();
      stop.removeEventListener("abort", onStop);
      socket.removeAllListeners().on("error", () => {});
      socket.close();
      settle();
    };
    const onStop = (): void => end(() => reject(stop.reason));
    stop.addEventListener("abort", onStop);
    socket.once("error", (reason) => end(() => reject(reason)));
    socket.on("message", (message) => {
      const answer = decodeAnswer(message);
      // What is not an answer to this question may be somebody's guess; the true one may still come.
      if (answer?.id === id && answersTo(answer, name, type)) end(() => resolve(answer));
    });
    // Connected, so that datagrams of others do not arrive and a server that is not there is noticed.
    socket.once("connect", ask);
    socket.connect(server.port, server.address);
  });
}

/** Answers to questions that nobody asked; a server that sends more of them is not listened to. */
const MAX_STRAYS = 4;

/**
 * Asks a DNS server on one TCP connection for several types at once (RFC 7766): its answer for each type, until all have come or it hung up. Rejects when the connection fails
 * before the first answer, or when what comes is not DNS. The stream is used up.
 */
export async function exchangeDns(
  stream: Duplex,
  name: string,
  types: readonly AddressType[],
  stop: AbortSignal,
): Promise<ReadonlyMap<AddressType, DnsAnswer>> {
  const first = randomInt(0x1_0000);
  const waiting = new Map(types.map((type, index) => [(first + index) & 0xffff, type]));
  const answers = new Map<AddressType, DnsAnswer>();
  const onStop = (): void => void stream.destroy(asError(stop.reason));
  stop.addEventListener("abort", onStop);
  stream.on("error", () => {});
  try {
    stop.throwIfAborted();
    for (const [id, type] of waiting) stream.write(framedQuery(id, name, type));
    let strays = 0;
    for await (const message of framesOf(stream)) {
      const answer = decodeAnswer(message);
      if (answer === undefined) throw new Error("the answer is not a DNS message");
      const type = waiting.get(answer.id);
      if (type === undefined || !answersTo(answer, name, type)) {
        strays += 1;
        if (strays > MAX_STRAYS) throw new Error("the answers belong to other questions");
        continue;
      }
      answers.set(type, answer);
      waiting.delete(answer.id);
      if (waiting.size === 0) break;
    }
  } catch (reason) {
    stop.throwIfAborted();
    if (answers.size === 0) throw reason;
  } finally {
    stop.removeEventListener("abort", onStop);
    stream.destroy();
  }
  if (answers.size === 0) throw new Error("the DNS server hung up without an answer");
  return answers;
}

function framedQuery(id: number, name: string, type: AddressType): Buffer {
  const query = encodeQuery(id, name, type);
  if (query === undefined) throw new Error("it is not a domain name");
  const length = Buffer.alloc(2);
  length.writeUInt16BE(query.length);
  return Buffer.concat([length, query]);
}

async function* framesOf(stream: Duplex): AsyncGenerator<Buffer, void, void> {
  let bytes: Buffer = Buffer.alloc(0);
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk]);
    while (bytes.length >= 2) {
      const end = 2 + bytes.readUInt16BE(0);
      if (bytes.length < end) break;
      yield bytes.subarray(2, end);
      bytes = bytes.subarray(end);
    }
  }
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}
