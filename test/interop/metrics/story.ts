import { readExactly } from "../../support/callers/bytes.js";
import { waitUntil } from "../../support/processes/deadline.js";
import type { Origin } from "../../support/processes/executables.js";
import { get, metric } from "../../support/processes/http.js";
import { freePort } from "../../support/processes/ports.js";
import type { FrontendKind } from "../../support/processes/server.js";
import { startTunnel } from "../../support/processes/tunnel.js";
import { startEcho } from "../../support/targets/echo.js";
import { type Family, parsePage } from "./page.js";

export interface Pages {
  readonly server: ReadonlyMap<string, Family>;
  readonly agent: ReadonlyMap<string, Family>;
}

const SERVER = "konnectivity_network_proxy_server_";
const AGENT = "konnectivity_network_proxy_agent_";

/** An agent connects; one dial reaches an echo, which answers and is left; one dial meets a closed port. */
export async function tellStory(server: Origin, agent: Origin, frontend: FrontendKind): Promise<Pages> {
  const echo = await startEcho();
  const closedPort = await freePort();
  const tunnel = await startTunnel({ server, agent, frontend });
  try {
    const serverPort = tunnel.place.healthPort;
    const agentPort = tunnel.agents[0]!.healthPort;

    const socket = await tunnel.open(echo.address);
    socket.write("hello");
    if ((await readExactly(socket, 5)).toString() !== "hello") throw new Error("the echo did not answer");
    socket.end();
    await waitUntil("the tunnel to be gone", async () => {
      const open = await metric(serverPort, `${SERVER}established_connections`);
      return open + (await metric(agentPort, `${AGENT}open_endpoint_connections`)) === 0;
    });
    socket.destroy();

    const refused = await tunnel.dial(`127.0.0.1:${closedPort}`);
    if (refused.ok || !refused.text.includes("refused")) throw new Error("the closed port was not refused");
    await waitUntil("both to have counted the refusal and to be quiet", async () => {
      const failed = await metric(serverPort, `${SERVER}dial_failure_count`, '{reason="error_response"}');
      const callers = await metric(serverPort, `${SERVER}http_connections`);
      const streams = await metric(serverPort, `${SERVER}grpc_connections`, '{service_method="Proxy"}');
      return failed === 1 && callers + streams === 0;
    });

    const page = async (port: number, prefix: string) => parsePage((await get(port, "/metrics")).body, prefix);
    return { server: await page(serverPort, "konnectivity_"), agent: await page(agentPort, "konnectivity_") };
  } finally {
    await tunnel.close();
    await echo.close();
  }
}
