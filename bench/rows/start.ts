import { setTimeout as sleep } from "node:timers/promises";
import { executable } from "../../test/support/processes/executables.js";
import { get } from "../../test/support/processes/http.js";
import { freePorts } from "../../test/support/processes/ports.js";
import { type RunningProcess, startProcess } from "../../test/support/processes/process.js";
import { Scope } from "../../test/support/processes/scope.js";
import { choosePlace, serverFlags } from "../../test/support/processes/server.js";
import { origins, roleFlags } from "../contenders/pair.js";
import { limit, metric, type Row } from "./row.js";

const POLL_MS = 2;
const GIVE_UP_MS = 15_000;

export const start: Row = {
  name: "start",
  about:
    "From spawning the process to the first 200 from /healthz, asked every 2 ms; and for the agent also to /readyz.",
  frontend: "connect-uds",
  contenders: ["ours/ours", "Go/Go"],
  bars: [limit("server", 0.12, 0.08), limit("agent", 0.12, 0.08)],
  metrics: [
    metric("server", "server healthy", "s", 3),
    metric("agent", "agent healthy", "s", 3),
    metric("connected", "agent connected", "s", 3),
  ],
  async measure({ fixture, name, frontend }) {
    const scope = new Scope();
    const { pki } = fixture.ground;
    const origin = origins(name);
    try {
      const place = await choosePlace(frontend, scope.tempDir());
      const [health, admin] = (await freePorts(2)) as [number, number];
      const server = await spawnUntil(
        scope,
        () =>
          startProcess({
            name: "proxy-server",
            command: executable(origin.server, "proxy-server"),
            args: [...serverFlags(place, pki), ...roleFlags(origin.server)],
          }),
        [[place.healthPort, "/healthz"]],
      );
      const agent = await spawnUntil(
        scope,
        () =>
          startProcess({
            name: "proxy-agent",
            command: executable(origin.agent, "proxy-agent"),
            args: [
              "--proxy-server-host=127.0.0.1",
              `--proxy-server-port=${place.agentPort}`,
              `--agent-cert=${pki.agent.cert}`,
              `--agent-key=${pki.agent.key}`,
              `--ca-cert=${pki.agent.ca}`,
              "--health-server-host=127.0.0.1",
              `--health-server-port=${health}`,
              `--admin-server-port=${admin}`,
              ...roleFlags(origin.agent),
            ],
          }),
        [
          [health, "/healthz"],
          [health, "/readyz"],
        ],
      );
      return { values: { server: server[0]!, agent: agent[0]!, connected: agent[1]! }, faults: [] };
    } finally {
      await scope.close();
    }
  },
};

/** Seconds from the spawn to each of these answers, one after the other. */
async function spawnUntil(
  scope: Scope,
  spawn: () => RunningProcess,
  answers: readonly (readonly [port: number, path: string])[],
): Promise<number[]> {
  const began = performance.now();
  const process = scope.use(spawn());
  const seconds: number[] = [];
  for (const [port, path] of answers) {
    while ((await get(port, path).catch(() => undefined))?.status !== 200) {
      if (!process.running || performance.now() - began > GIVE_UP_MS) {
        throw new Error(`${process.name} did not answer ${path}:\n${process.log.tail()}`);
      }
      await sleep(POLL_MS);
    }
    seconds.push((performance.now() - began) / 1000);
  }
  return seconds;
}
