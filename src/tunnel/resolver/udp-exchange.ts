/** One question to one DNS server: by UDP from a socket of its own, by TCP when the answer does not fit into a datagram. */
import { randomInt } from "node:crypto";
import { createSocket } from "node:dgram";
import { connect, isIPv6 } from "node:net";
import { type AddressType, answersTo, type DnsAnswer, decodeAnswer, encodeQuery } from "../wire/dns.js";
import type { NameServer } from "./system-files.js";
import { exchangeDns } from "./tcp-exchange.js";

/** What gets through every network in one piece, and what Go says. */
const DATAGRAM_BYTES = 1232;

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
    const end = (settle: () => void): void => {
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
    socket.once("connect", () => socket.send(query));
    socket.connect(server.port, server.address);
  });
}
