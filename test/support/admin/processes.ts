/** A process of every role with its admin port open: a sidecar before a server, an agent behind it, an Ignition server beside them. */
import { mkdirSync, writeFileSync } from "node:fs";
import type { Socket } from "node:net";
import { join } from "node:path";
import { askFrontend, connectRequest } from "../callers/connect.js";
import { waitUntil } from "../processes/deadline.js";
import { ours } from "../processes/executables.js";
import { get } from "../processes/http.js";
import { freePorts, portOpen } from "../processes/ports.js";
import { type RunningProcess, startProcess } from "../processes/process.js";
import type { Scope } from "../processes/scope.js";
import { startTunnel, type Tunnel } from "../processes/tunnel.js";

export interface RoleProcesses {
  readonly tunnel: Tunnel;
  /** Where each role's admin port is. */
  readonly ports: Readonly<Record<"server" | "agent" | "sidecar" | "ignition", number>>;
  /** Where the Ignition server's metrics are, whether or not there is an admin port. */
  readonly ignitionMetricsPort: number;
  /** Where machines come to. */
  readonly ignitionPort: number;
  /** Through the sidecar, and so through the server and the agent. */
  open(target: string): Promise<Socket>;
}

export async function startRoles(scope: Scope, token: string): Promise<RoleProcesses> {
  const dir = scope.tempDir();
  const tokenFile = join(dir, "admin-token");
  writeFileSync(tokenFile, `${token}\n`, { mode: 0o600 });
  const ports = await freePorts(6);
  const [agent, sidecar, sidecarHealth, ignition, ignitionPort, ignitionMetricsPort] = ports as [
    ...[number, number, number, number, number, number],
  ];
  const admin = `--admin-token-file=${tokenFile}`;
  const tunnel = scope.use(
    await startTunnel({
      ...{ server: "ours", agent: "ours", frontend: "connect-uds" },
      serverFlags: [admin],
      agentFlags: [admin, `--admin-server-port=${agent}`],
    }),
  );
  const start = async (
    name: string,
    args: readonly string[],
    isUp: () => Promise<boolean>,
  ): Promise<RunningProcess> => {
    const process = scope.use(startProcess({ name, command: ours("drawbridge"), args }));
    const context = () => `\n${process.log.tail()}`;
    await process.untilReady("it was up", () => waitUntil(`the ${name} to be up`, isUp, { withinMs: 30_000, context }));
    return process;
  };

  const frontend = join(dir, "proxy.sock");
  await start(
    "sidecar",
    [
      ...["sidecar", `--listen=http+unix://${frontend}`, `--frontend=http-connect+uds:${tunnel.place.udsPath}`],
      ...["--health-bind-address=127.0.0.1", `--health-port=${sidecarHealth}`, "--probe-interval=300ms"],
      "--probe-timeout=30s",
      ...[`--admin-port=${sidecar}`, admin],
    ],
    async () => (await get(sidecarHealth, "/readyz")).status === 200,
  );

  const objects = join(dir, "objects");
  mkdirSync(objects);
  const recipe = join(dir, "payload.yaml");
  writeFileSync(recipe, "profile: kubelet\nkubelet: {clusterDns: [10.96.0.10]}\n");
  const { cert, key } = tunnel.pki.webhook;
  await start(
    "Ignition server",
    [
      ...["ignition", "serve", "--namespace=clusters-demo", `--directory=${objects}`, `--payload=${recipe}`],
      ...[`--cert-file=${cert}`, `--key-file=${key}`, `--addr=127.0.0.1:${ignitionPort}`],
      ...[`--metrics-addr=127.0.0.1:${ignitionMetricsPort}`, `--admin-addr=127.0.0.1:${ignition}`, admin],
    ],
    // The last of its ports to be opened.
    () => portOpen(ignitionMetricsPort),
  );

  return {
    ...{ tunnel, ignitionMetricsPort, ignitionPort },
    ports: { server: tunnel.place.adminPort, agent, sidecar, ignition },
    open: async (target) => {
      const { status, socket } = await askFrontend({ transport: "uds", path: frontend }, connectRequest(target));
      scope.defer(() => void socket.destroy());
      if (status !== 200) throw new Error(`${target} could not be dialled: ${status}`);
      return socket;
    },
  };
}
