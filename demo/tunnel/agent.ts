import { freePorts } from "../../test/support/processes/ports.js";
import type { Place } from "../isolation/place.js";
import type { AgentName, Pki } from "../pki.js";
import type { Processes, Running } from "../processes/processes.js";
import { shipped } from "./executables.js";

/** Starts an agent on the agents' side; it connects by itself. */
export async function startAgent(
  processes: Processes,
  place: Place,
  pki: Pki,
  name: AgentName,
  serverPort: number,
): Promise<Running> {
  const [healthPort, adminPort] = (await freePorts(2)) as [number, number];
  const { ca, cert, key } = pki.agent(name);
  const flags = [
    `--agent-id=${name}`,
    `--proxy-server-host=${place.serverHost}`,
    `--proxy-server-port=${serverPort}`,
    `--ca-cert=${ca}`,
    `--agent-cert=${cert}`,
    `--agent-key=${key}`,
    "--health-server-host=127.0.0.1",
    `--health-server-port=${healthPort}`,
    `--admin-server-port=${adminPort}`,
    "--drain-timeout=1s",
  ];
  return processes.start(name, [...shipped("proxy-agent"), ...flags], place);
}
