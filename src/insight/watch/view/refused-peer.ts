/** A refused peer in words, for the terminal and the page. */
import { isoTime } from "../../../base/text.js";
import type { RefusedPeerRow } from "../../observe/admin/contract.js";
import { overText } from "../../observe/over.js";
import { count, timeOfDay } from "./format.js";

export function refusedPeerText(peer: RefusedPeerRow): string {
  const { address, listener, reason, count: times, at } = peer;
  const over = overText(peer);
  const since = over === undefined ? "" : ` (${over})`;
  return `${timeOfDay(at)} ${address} at ${listener}${since}: ${reason}${times === 1 ? "" : ` (${count(times)} times)`}`;
}

/** What is known of it, by name; what it did not say is left out. */
export function refusedPeerFacts(peer: RefusedPeerRow): [name: string, value: string][] {
  const { code, agentId, certificate, firstAt } = peer;
  const facts: [string, string | undefined][] = [
    ["code", code],
    ["agent ID", agentId],
    ["subject", certificate?.subject],
    ["issuer", certificate?.issuer],
    ["serial", certificate?.serial],
    ["valid", certificate && `${isoTime(certificate.notBeforeAt)} until ${isoTime(certificate.notAfterAt)}`],
    ["first", peer.count === 1 ? undefined : isoTime(firstAt)],
    ["last", isoTime(peer.at)],
    ["accepted since", peer.acceptedAt === undefined ? undefined : isoTime(peer.acceptedAt)],
    ["certificate replaced", peer.replacedAt === undefined ? undefined : isoTime(peer.replacedAt)],
  ];
  return facts.filter((fact): fact is [string, string] => fact[1] !== undefined);
}
