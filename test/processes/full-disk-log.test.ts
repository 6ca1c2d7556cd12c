/** Server, agent and sidecar whose log and dumps are on a disk that fills up: they go on serving, and log again once there is room. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { payload } from "../support/callers/bytes.js";
import { askFrontend, connectRequest } from "../support/callers/connect.js";
import { dialOnce, echoed } from "../support/lab/load.js";
import { START_WITHIN_MS, waitUntil } from "../support/processes/deadline.js";
import { ours } from "../support/processes/executables.js";
import { get, metricSum } from "../support/processes/http.js";
import { freePorts } from "../support/processes/ports.js";
import { type RunningProcess, startProcess } from "../support/processes/process.js";
import { Scope } from "../support/processes/scope.js";
import { startTunnel } from "../support/processes/tunnel.js";
import { startEcho } from "../support/targets/echo.js";

const canMount = spawnSync("unshare", ["--mount", "true"]).status === 0;
if (!canMount) process.stderr.write("skipped: a disk of its own needs root (unshare --mount)\n");

const scope = new Scope();
afterEach(() => scope.close());

test.skipIf(!canMount)("a full disk under log and dumps costs no tunnel, and lines come again with room", async () => {
  const disk = join(scope.tempDir(), "disk");
  mkdirSync(disk);
  const script = `mount -t tmpfs -o size=64k none ${disk} && head -c 65536 /dev/zero > ${disk}/filler; exec "$@" 2> ${disk}/log`;
  const through = ["unshare", "--mount", "--propagation", "private", "bash", "--norc", "-c", script, "bash"];
  const seenBy = ({ pid }: RunningProcess, name: string) => `/proc/${pid}/root${disk}/${name}`;

  const echo = scope.use(await startEcho());
  const tunnel = scope.use(
    await startTunnel({
      ...{ server: "ours", agent: "ours", frontend: "connect-uds", serverThrough: through, agentThrough: through },
      serverFlags: [
        ...[`--dump-dir=${disk}/dumps`, "--watchdog-interval=300ms", "--watchdog-timeout=1s", "--watchdog-failures=2"],
        "-v=5",
      ],
      agentFlags: ["-v=5"],
    }),
  );
  const [proxyPort, healthPort] = (await freePorts(2)) as [number, number];
  const [command = "", ...before] = [
    ...through,
    ours("drawbridge"),
    "sidecar",
    `--listen=http://127.0.0.1:${proxyPort}`,
  ];
  const sidecar = scope.use(
    startProcess({
      ...{ name: "sidecar", command },
      args: [
        ...[...before, `--frontend=http-connect+uds:${tunnel.place.udsPath}`, `--health-port=${healthPort}`],
        ...["--probe-interval=300ms", "-v=5"],
      ],
      env: { KUBERNETES_SERVICE_HOST: "127.0.0.1", KUBERNETES_SERVICE_PORT: "1" },
    }),
  );
  const isReady = async () => (await get(healthPort, "/readyz")).status === 200;
  await sidecar.untilReady("it was ready", () => waitUntil("the sidecar", isReady, { withinMs: START_WITHIN_MS }));
  const processes = [tunnel.server.process, tunnel.agents[0]!.process, sidecar];
  for (const process of processes) expect(statSync(seenBy(process, "log")).size).toBe(0);

  const question = payload("full", 50_000);
  const asked = async () => {
    const socket = await dialOnce({ transport: "plain", port: proxyPort }, echo.address);
    await echoed(socket, question).finally(() => socket.destroy());
  };
  for (let count = 0; count < 20; count++) await asked();
  const refused = await askFrontend({ transport: "uds", path: tunnel.place.udsPath }, connectRequest("127.0.0.1:1"));
  refused.socket.destroy();
  expect(refused.status).toBeGreaterThanOrEqual(500);

  // A dump that cannot be written must not be what ends the server.
  tunnel.agents[0]!.process.signal("SIGSTOP");
  const failures = () => metricSum(tunnel.place.healthPort, "drawbridge_server_path_checks_total", 'result="failed"');
  await waitUntil("the watchdog to give the link up", async () => (await failures()) >= 2);
  tunnel.agents[0]!.process.signal("SIGCONT");
  await waitUntil("the agent to be back", () => asked().then(() => true), { withinMs: 30_000 });
  const dumps = seenBy(tunnel.server.process, "dumps");
  expect(existsSync(dumps) ? readdirSync(dumps) : []).toEqual([]);

  for (const process of processes) rmSync(seenBy(process, "filler"));
  for (const process of processes) {
    await waitUntil(`${process.name} to log again`, async () => {
      await asked();
      return readFileSync(seenBy(process, "log"), "utf8").includes(echo.address);
    });
    expect(process.running).toBe(true);
  }
});
