import { existsSync, readFileSync } from "node:fs";
import { type Attack, BOUND_MIB, type Target } from "../attack.js";
import type { Work } from "../harness/work.js";

const common = { fixture: "ignition", against: "Ignition server, without a token", boundMiB: BOUND_MIB } as const;

/** One request on a connection of its own; the answer's head, or "" when there was none. */
async function ask(target: Target, work: Work, request: string): Promise<string> {
  const socket = await work.connect(target.listeners.ignition!);
  if (!socket) return "";
  let answer = "";
  socket.on("data", (chunk: Buffer) => {
    if (answer.length < 1000) answer += chunk.toString("latin1");
  });
  socket.write(request);
  await work.until(() => answer.includes("\r\n\r\n") || socket.destroyed);
  work.drop(socket);
  return answer;
}

export const ignitionAttacks: readonly Attack[] = [
  {
    ...common,
    name: "ignition-slow-heads",
    description: "300 requests that arrive byte by byte and never end",
    async run(target, work) {
      const one = async () => {
        const socket = (await work.connect(target.listeners.ignition!))?.resume();
        if (!socket) return;
        socket.write("GET /ignition HTTP/1.1\r\nHost: x\r\nX: ");
        while (await work.write(socket, Buffer.from("y"))) await work.sleep(100);
      };
      for (let count = 0; count < 300 && !work.over; count++) {
        void one();
        await work.sleep(4);
      }
      await work.untilOver();
    },
  },
  {
    ...common,
    name: "ignition-half-handshakes",
    description: "800 TLS handshakes that never get beyond half a ClientHello",
    async run(target, work) {
      for (let count = 0; count < 800 && !work.over; count++) {
        work.connectBelow(target.listeners.ignition!).resume().write(Buffer.from("1603010200010001fc0303", "hex"));
        if (count % 20 === 19) await work.sleep(5);
      }
      await work.untilOver();
    },
  },
  {
    ...common,
    name: "ignition-wrong-tokens",
    description: "requests with tokens that nobody has, of every length: none gets a payload",
    async run(target, work) {
      const guess = () => work.random.bytes(1 + work.random.below(60)).toString("base64");
      for (let count = 0; count < 400 && !work.over; count++) {
        const token = count % 3 === 0 ? "" : ` ${count % 3 === 1 ? "Bearer" : "Basic"} ${guess()}`;
        const request = `GET /ignition HTTP/1.1\r\nHost: x\r\nAuthorization:${token}\r\n\r\n`;
        const answer = await ask(target, work, request);
        if (answer.startsWith("HTTP/1.1 200")) work.violation(`the token${token} got a payload`);
      }
    },
  },
  {
    ...common,
    name: "ignition-claim-without-fetch",
    against: "Ignition server, with a worker's token",
    description: "HEAD and conditional requests with a worker's token: without its payload there must be no claim",
    noSink: true,
    async run(target, work) {
      const { workerToken, claimsFile } = target.extra;
      const head = (method: string, more = "") =>
        `${method} /ignition HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${workerToken}\r\n${more}\r\n`;
      const first = await ask(target, work, head("HEAD"));
      const etag = /etag: (.+)\r\n/i.exec(first)?.[1];
      if (etag === undefined) return work.violation(`HEAD was answered ${first.split("\r\n")[0]}`);
      for (const method of ["HEAD", "GET"]) {
        const answer = await ask(target, work, head(method, `If-None-Match: ${etag}\r\n`));
        if (!answer.startsWith("HTTP/1.1 304")) work.violation(`${method} for what it has was not answered 304`);
      }
      if (existsSync(claimsFile!) && readFileSync(claimsFile!, "utf8").includes("worker-0")) {
        work.violation("the worker's claim was left without its payload having been fetched");
      }
    },
  },
];
