/**
 * A host that has no way into the pod network (`server`), a node that has one (`node`), and a web server in a pod. Each has
 * the network to itself, so pages can use the ports that programs have by default.
 */
import { copyFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { allReady, type Crossing, makeCrossing } from "../../test/support/lab/cluster.js";
import { equipped } from "../../test/support/lab/equipment.js";
import { connectOverTcp } from "../../test/support/lab/frontends.js";
import { LabProcess } from "../../test/support/lab/process.js";
import { address } from "../../test/support/lab/topology.js";
import { until } from "../../test/support/lab/wait.js";
import { theirs } from "../../test/support/processes/executables.js";
import { inNetworkOf, type StageKind } from "../stage.js";

const PORT = 8080;
const POD = `
require("node:http").createServer((_, response) => response.end("hello from the pod network\\n"))
  .listen(${PORT}, "${address.wh}", () => console.log("listening"));
`;

export const tunnel: StageKind = {
  equipped: () => equipped({ namespaces: true, upstream: true }),
  async set(scope) {
    const crossing = await makeCrossing(scope);
    const { bs, n1, wh, infra } = crossing.topology;
    const pod = LabProcess.start(scope, { name: "pod", netns: wh, command: [process.execPath, "-e", POD] });
    await pod.ready("listening", 10_000, () => pod.log().includes("listening"));
    return {
      hosts: { server: inNetworkOf(bs), node: inNetworkOf(n1), neighbour: inNetworkOf(infra) },
      words: {
        SERVER: address.bs,
        ENDPOINT: `${address.wh}:${PORT}`,
        CLOSED: `${address.wh}:9`,
        HERE: scope.file("here"),
        "konnectivity-server-local": address.bs,
        GO: dirname(theirs("proxy-server")),
      },
      env: {},
      steps: { "a tunnel": () => openTunnel(crossing, scope.file("here")) },
    };
  },
};

/** For pages that are about what stands on a tunnel: a server and agents, and a caller's files in the folder. */
async function openTunnel({ server, agents }: Crossing, here: string): Promise<void> {
  const { caFile, client } = server.door;
  for (const [from, to] of [
    [caFile, "ca.crt"],
    [client.cert, "tls.crt"],
    [client.key, "tls.key"],
  ] as const)
    copyFileSync(from, join(here, to));
  await server.start(connectOverTcp);
  await Promise.all(agents.map((agent) => agent.start()));
  await until("both agents to be connected", 20_000, () => allReady(agents));
}
