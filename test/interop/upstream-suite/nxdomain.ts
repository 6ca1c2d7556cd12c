/** A DNS responder that knows no name: run inside the suite's namespace, where no other resolver exists. */
import { createSocket } from "node:dgram";

const HEADER_BYTES = 12;
const NXDOMAIN = 3;

/** The answer to a query: its id, recursion wish and question come back, with "no such name". */
function refuse(query: Buffer): Buffer | undefined {
  const end = questionEnd(query);
  if (end === undefined) return undefined;
  const answer = Buffer.alloc(end);
  query.copy(answer, 0, 0, end);
  const recursionDesired = answer[2]! & 0x01;
  answer[2] = 0x80 | recursionDesired;
  answer[3] = 0x80 | NXDOMAIN;
  answer.writeUInt16BE(1, 4);
  // Counts of answers, authorities and additions: whatever the query carried there (EDNS) is not repeated.
  answer.fill(0, 6, HEADER_BYTES);
  return answer;
}

function questionEnd(query: Buffer): number | undefined {
  let at = HEADER_BYTES;
  while (at < query.length && query[at] !== 0) at += query[at]! + 1;
  const end = at + 5;
  return end <= query.length ? end : undefined;
}

const socket = createSocket("udp4");
socket.on("message", (query, from) => {
  const answer = refuse(query);
  if (answer) socket.send(answer, from.port, from.address);
});
socket.bind(53, "127.0.0.1", () => process.stdout.write("ready\n"));
