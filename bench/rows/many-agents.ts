import { readExactly } from "../../test/support/callers/bytes.js";
import { askFrontend, connectRequest } from "../../test/support/callers/connect.js";
import { Scope } from "../../test/support/processes/scope.js";
import { listen, type Target } from "../../test/support/targets/listener.js";
import { agentAddress } from "../agents/address.js";
import { connectAgents } from "../agents/connect.js";
import { origins } from "../contenders/pair.js";
import { percentile } from "../results/statistics.js";
import { limit, metric, type Row } from "./row.js";

const AT_ONCE = 16;
const REQUEST = `${"x".repeat(1023)}\n`;

/** As many agents as a large cluster has nodes: what it takes to have them all, and that each one serves. */
export function manyAgents(count: number): Row {
  return {
    name: `agents-${count}`,
    about: `${count.toLocaleString("en-US")} agents connect at once (through our library, 100 in a process, for both servers). Once all are at rest, the server's own memory for each and the idle CPU are measured; then each agent, which the server knows by an address of its own, carries one 1 KB request.`,
    frontend: "connect-uds",
    contenders: ["ours/ours", "Go/ours"],
    rivals: { ours: "ours/ours", theirs: "Go/ours" },
    once: true,
    bars: [limit("connected", 20), limit("each", 40, 25)],
    metrics: [
      metric("connected", "all connected", "s", 1),
      metric("each", "server's own memory for each", "KiB", 1),
      metric("idleServer", "server's idle CPU", "% of a core", 1),
      metric("idleAgents", "idle CPU of all agents", "% of a core", 1),
      metric("asked", "one request to each", "s", 1),
      metric("p99", "p99 of those requests", "ms", 1),
    ],
    async measure({ fixture, name, frontend }) {
      const scope = new Scope();
      try {
        const origin = origins(name).server;
        const flags = ["--proxy-strategies=destHost"];
        const { ground } = fixture;
        const { place, ...agents } = await connectAgents(scope, { origin, frontend, count, flags }, ground);
        const { port } = scope.use(await startEcho());
        const began = performance.now();
        const millis = await askEach(count, place.udsPath, port);
        return {
          values: {
            connected: agents.connectedSeconds,
            each: agents.each.ownKiB,
            idleServer: agents.idleCpuPercent.server,
            idleAgents: agents.idleCpuPercent.agents,
            asked: (performance.now() - began) / 1000,
            p99: percentile(millis, 99),
          },
          faults: [],
        };
      } finally {
        await scope.close();
      }
    },
  };
}

/** On every address of the loopback device, for nobody else. */
const startEcho = (): Promise<Target> =>
  listen((socket) => {
    if (socket.localAddress?.startsWith("127.")) socket.pipe(socket);
    else socket.destroy();
  }, "0.0.0.0");

/** How long each took, from CONNECT to the last byte of the answer. */
async function askEach(count: number, path: string, port: number): Promise<number[]> {
  const millis: number[] = [];
  let next = 0;
  const ask = async (): Promise<void> => {
    for (let agent = next++; agent < count; agent = next++) {
      const began = performance.now();
      const target = `${agentAddress(agent)}:${port}`;
      const { status, head, socket } = await askFrontend({ transport: "uds", path }, connectRequest(target));
      try {
        if (status !== 200) throw new Error(`agent ${agent} of ${count}: ${head}`);
        socket.write(REQUEST);
        const answer = await readExactly(socket, REQUEST.length);
        if (answer.toString("latin1") !== REQUEST) throw new Error(`agent ${agent} of ${count}: another answer`);
      } finally {
        socket.destroy();
      }
      millis.push(performance.now() - began);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, ask));
  return millis;
}
