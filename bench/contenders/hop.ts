import { writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { waitUntil } from "../../test/support/processes/deadline.js";
import { ours } from "../../test/support/processes/executables.js";
import { type RunningProcess, startProcess } from "../../test/support/processes/process.js";
import { Scope } from "../../test/support/processes/scope.js";
import type { Contender, Hop } from "./contender.js";
import type { Ground } from "./ground.js";
import { startPair } from "./pair.js";

/** Our server and agent with one more hop in front, Unix sockets on both sides of it: what that hop costs. */
export async function startHop(name: Hop, ground: Ground): Promise<Contender> {
  const scope = new Scope();
  try {
    const pair = scope.use(await startPair({ name: "ours/ours", frontend: "connect-uds" }, ground));
    const socket = join(scope.tempDir(), "hop.sock");
    const hop = scope.use(start[name](socket, pair.route.address, scope));
    await hop.untilReady("its socket took a connection", () => waitUntil("a connection", () => takes(socket)));
    return {
      ...pair,
      name,
      route: { ...pair.route, address: socket },
      pids: [...pair.pids, hop.pid],
      hop: hop.pid,
      close: () => scope.close(),
    };
  } catch (reason) {
    await scope.close();
    throw reason;
  }
}

const start: Readonly<Record<Hop, (socket: string, server: string, scope: Scope) => RunningProcess>> = {
  sidecar: (socket, server) =>
    startProcess({
      name: "sidecar",
      command: ours("drawbridge"),
      args: ["sidecar", `--listen=http+unix:${socket}`, `--frontend=http-connect+uds:${server}`, "--health-port=0"],
    }),
  /** It passes bytes on and reads none of them: the plainest hop in wide use. */
  HAProxy: (socket, server, scope) => {
    const file = join(scope.tempDir(), "haproxy.cfg");
    writeFileSync(
      file,
      [
        "global",
        "  maxconn 4000",
        "defaults",
        "  mode tcp",
        "  timeout connect 10s",
        "  timeout client 1h",
        "  timeout server 1h",
        "listen hop",
        `  bind unix@${socket}`,
        `  server door unix@${server}`,
        "",
      ].join("\n"),
    );
    return startProcess({ name: "HAProxy", command: "haproxy", args: ["-db", "-f", file] });
  },
};

function takes(socket: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const probe = connect(socket, () => {
      probe.destroy();
      resolve(true);
    });
    probe.once("error", reject);
  });
}
