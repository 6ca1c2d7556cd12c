import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { waitUntil } from "../../test/support/processes/deadline.js";
import { ours } from "../../test/support/processes/executables.js";
import { get } from "../../test/support/processes/http.js";
import { freePorts } from "../../test/support/processes/ports.js";
import { startProcess } from "../../test/support/processes/process.js";
import { type Attack, BOUND_MIB } from "../attack.js";

export const socketTheft: Attack = {
  name: "socket-theft",
  against: "Unix socket of a frontend, over a restart",
  description: "an old process that ends after a new one has taken its socket's place must leave that socket",
  fixture: "server",
  boundMiB: BOUND_MIB,
  noSink: true,
  upstream: false,
  seconds: 2,
  async run(target, work) {
    const dir = mkdtempSync(join(tmpdir(), "db-theft-"));
    const path = join(dir, "frontend.sock");
    const place = target.listeners.agents!;
    const start = async (name: string) => {
      const [agent, health, admin] = (await freePorts(3)) as [number, number, number];
      const { ca } = place as { ca: string };
      const cluster = ca.replace("cluster-ca.pem", "cluster");
      const server = startProcess({
        name,
        command: ours("proxy-server"),
        args: [
          ...["--mode=http-connect", "--server-port=0", `--uds-name=${path}`, `--agent-port=${agent}`],
          ...[`--cluster-cert=${cluster}.pem`, `--cluster-key=${cluster}.key`, `--cluster-ca-cert=${ca}`],
          ...[`--health-port=${health}`, `--admin-port=${admin}`, "--agent-bind-address=127.0.0.1"],
          ...["--health-bind-address=127.0.0.1", "--admin-bind-address=127.0.0.1"],
        ],
      });
      await server.untilReady("it listened", () =>
        waitUntil(`${name} to listen`, async () => (await get(health, "/healthz")).status === 200 && existsSync(path)),
      );
      return server;
    };
    try {
      const old = await start("the old server");
      const young = await start("the new server");
      await old.stop();
      const socket = existsSync(path) ? await work.connect({ kind: "uds", path }) : undefined;
      if (!socket) work.violation("the new server's socket was taken away by the old one");
      socket?.destroy();
      await young.stop();
      if (existsSync(path)) work.violation("the last server left its socket behind");
      if (work.openConnections === 0) await work.sleep(1);
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  },
};
