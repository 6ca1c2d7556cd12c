/** Is the proxy-server up, and has it agents? */
import { type Check, fail, pass } from "../../../../base/check.js";
import { messageOf } from "../../../../base/errors/error.js";
import { httpGet } from "../../../../base/http-get.js";
import { lookAtAgents } from "../../rehearsal/call.js";
import { agentDoor, type Bridge } from "../bridge.js";

export function serverChecks(bridge: Bridge): Check[] {
  return [
    { id: "server-health", title: "The proxy-server is up", run: (signal) => healthy(bridge, signal) },
    { id: "server-ready", title: "The proxy-server has agents", run: (signal) => ready(bridge, signal) },
  ];
}

async function healthy(bridge: Bridge, signal: AbortSignal) {
  const url = `${bridge.health}/healthz`;
  const { paths, server } = bridge.model;
  const starter = { "static-pod": paths.staticPod, systemd: paths.unit, process: "its command" }[server.form];
  const remedy = `Start the server (${starter}) and read its log; when its --health-port is another, give it with --health.`;
  try {
    const { status } = await httpGet(url, { signal });
    return status === 200 ? pass(`${url} answers 200`) : fail(`${url} answers ${status}`, remedy);
  } catch (reason) {
    return fail(`${url} does not answer: ${messageOf(reason)}`, remedy);
  }
}

async function ready(bridge: Bridge, signal: AbortSignal) {
  const url = `${bridge.health}/readyz`;
  const remedy =
    `Look at the agents (${lookAtAgents(bridge.namespace)}) and let all nodes reach TCP ${agentDoor(bridge)} ` +
    "(drawbridge firewall plan).";
  try {
    const { status, body } = await httpGet(url, { signal });
    return status === 200
      ? pass(`${url} answers 200`)
      : fail(`${url} answers ${status}: ${body.slice(0, 200)}`, remedy);
  } catch (reason) {
    return fail(`${url} does not answer: ${messageOf(reason)}`, "Start the server first (check server-health).");
  }
}
