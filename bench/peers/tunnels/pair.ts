import { readFileSync } from "node:fs";
import { peerPath } from "../../../peers/index.js";
import { executable, type Origin } from "../../../test/support/processes/executables.js";
import { freePorts } from "../../../test/support/processes/ports.js";
import { AGENT_DEFAULTS, roleFlags, routeOf, startServerOf } from "../../contenders/pair.js";
import { describeMachine } from "../../results/machine.js";
import { Ends } from "../ends.js";
import type { Tunnel } from "../tunnel.js";

const tunnelOf = (origin: Origin, about: Pick<Tunnel, "name" | "title" | "problem" | "version">): Tunnel => ({
  ...about,
  kind: {
    direction: "reverse",
    connections: "multiplexed",
    encryption: "TLS 1.3, AES-128-GCM",
    authentication: "certificates, both ends",
    entrance: "CONNECT over a Unix socket",
    targets: "any, asked for by each caller",
  },
  async start(scope, ground) {
    const server = await startServerOf(scope, origin, "connect-uds", ground);
    const [health, admin] = (await freePorts(2)) as [number, number];
    const { agent } = ground.pki;
    const ends = await Ends.start(routeOf(server.place, ground), server.process, {
      name: `proxy-agent (${origin})`,
      command: executable(origin, "proxy-agent"),
      args: [
        ...["--proxy-server-host=127.0.0.1", `--proxy-server-port=${server.place.agentPort}`, "--agent-id=compared"],
        ...[`--agent-cert=${agent.cert}`, `--agent-key=${agent.key}`, `--ca-cert=${agent.ca}`],
        ...["--health-server-host=127.0.0.1", `--health-server-port=${health}`, `--admin-server-port=${admin}`],
        ...AGENT_DEFAULTS,
        ...roleFlags(origin),
      ],
    });
    return scope.use(ends);
  },
});

export const drawbridge = tunnelOf("ours", {
  name: "drawbridge",
  title: "drawbridge",
  problem: () => undefined,
  version() {
    const file = new URL("../../../package.json", import.meta.url);
    const { version } = JSON.parse(readFileSync(file, "utf8")) as { version: string };
    return `${version} on Node ${process.versions.node}`;
  },
});

export const upstream = tunnelOf("theirs", {
  name: "upstream",
  title: "upstream (Go)",
  problem: () =>
    peerPath("proxy-server") && peerPath("proxy-agent")
      ? undefined
      : "it is not built: run npm run peers -- proxy-server proxy-agent",
  version: () => describeMachine().upstream.replace(/^v/, ""),
});
