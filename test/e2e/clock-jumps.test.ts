/** Hosts whose clocks are set by hours while real processes run on them: what is open stays open, and what was right stays so. */
import { copyFileSync, mkdirSync } from "node:fs";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Load } from "../support/lab/load.js";
import { LongTunnel } from "../support/lab/long-tunnel.js";
import { startAgent } from "../support/processes/agent.js";
import { makePki, type TestPki } from "../support/processes/certs.js";
import { START_WITHIN_MS, waitUntil } from "../support/processes/deadline.js";
import { ours } from "../support/processes/executables.js";
import { clocksCanBeSet, HostClock } from "../support/processes/host-clock.js";
import { get, metric, metricSum } from "../support/processes/http.js";
import { freePorts } from "../support/processes/ports.js";
import { type RunningProcess, startProcess } from "../support/processes/process.js";
import { Scope } from "../support/processes/scope.js";
import { connectFrontend } from "../support/processes/server.js";
import { startTunnel, type Tunnel } from "../support/processes/tunnel.js";
import { startEcho } from "../support/targets/echo.js";

const HOSTS = ["server", "agents", "sidecar"] as const;
/** Every clock on its own, all of them together, and back. */
const JUMPS: readonly Partial<Record<(typeof HOSTS)[number], number>>[] = [
  { server: 6 },
  { server: -6, agents: 6 },
  { server: 0, agents: -6, sidecar: 6 },
  { server: 6, agents: 6, sidecar: -6 },
  { server: -6, agents: -6, sidecar: -6 },
  { server: 0, agents: 0, sidecar: 0 },
];
/** Many times what the watchdog and the pings below need for a round. */
const BETWEEN_JUMPS_MS = 1_000;
/** Good for twelve hours before and after now. */
const BACKDATED_HOURS = -12;

const ready = clocksCanBeSet();

describe.skipIf(!ready)("a tunnel on hosts whose clocks are set", () => {
  const scope = new Scope();
  let clocks: Record<(typeof HOSTS)[number], HostClock>;
  let dir: string;
  let pki: TestPki;
  let tunnel: Tunnel;
  let sidecar: RunningProcess;
  let sidecarPort: number;
  let target: string;

  beforeAll(async () => {
    scope.defer(() => HostClock.sweep());
    dir = scope.tempDir();
    clocks = { server: clock("server"), agents: clock("agents"), sidecar: clock("sidecar") };
    pki = certificatesOf("now", BACKDATED_HOURS);
    target = `127.0.0.1:${scope.use(await startEcho()).port}`;
    tunnel = scope.use(
      await startTunnel({
        ...{ server: "ours", agent: "ours", frontend: "connect-tcp", agents: 2, pki },
        ...{ serverThrough: clocks.server.through, agentThrough: clocks.agents.through },
        serverFlags: ["--keepalive-time=500ms", "--watchdog-interval=300ms", "--watchdog-timeout=5s"],
        agentFlags: ["--keepalive-time=500ms"],
      }),
    );
    [sidecar, sidecarPort] = await startSidecar();
  });
  afterAll(() => scope.close());

  const clock = (name: string, hours = 0) => new HostClock(join(dir, `${name}.clock`), hours);

  function certificatesOf(name: string, hours: number): TestPki {
    const folder = join(dir, name);
    mkdirSync(folder);
    return clock(`${name}-issuer`, hours).during(() => makePki(folder));
  }

  async function startSidecar(): Promise<[RunningProcess, number]> {
    const [port, health] = (await freePorts(2)) as [number, number];
    const [command = "", ...args] = [...clocks.sidecar.through, ours("drawbridge"), "sidecar"];
    const process = startProcess({
      ...{ name: "sidecar", command },
      args: [
        ...[...args, `--listen=http://127.0.0.1:${port}`, `--health-port=${health}`],
        ...[`--frontend=http-connect+tcp:localhost:${tunnel.place.frontendPort}`, `--ca-cert-path=${pki.caller.ca}`],
        ...[`--tls-cert-path=${pki.caller.cert}`, `--tls-key-path=${pki.caller.key}`, "--probe-interval=300ms"],
      ],
      env: { KUBERNETES_SERVICE_HOST: "127.0.0.1", KUBERNETES_SERVICE_PORT: "1" },
    });
    scope.use(process);
    const isReady = async () => (await get(health, "/readyz")).status === 200;
    const options = { withinMs: START_WITHIN_MS, context: () => process.log.tail() };
    await process.untilReady("it was ready", () => waitUntil("the sidecar to be ready", isReady, options));
    return [process, port];
  }

  const frontend = () => connectFrontend(tunnel.place, pki);
  const throughSidecar = () => ({ transport: "plain", port: sidecarPort }) as const;
  const checks = (result: string) =>
    metricSum(tunnel.place.healthPort, "drawbridge_server_path_checks_total", `result="${result}"`);
  const everyLog = () => [tunnel.server, ...tunnel.agents].map(({ process }) => process.log.text).join("");

  test("jumps of six hours cut no tunnel, lose no link and refuse no dial", async () => {
    const held = [
      await LongTunnel.open("server", frontend(), target),
      await LongTunnel.open("sidecar", throughSidecar(), target),
    ];
    const loads = [Load.start(frontend, target, 2), Load.start(throughSidecar, target, 2)];
    const before = await checks("ok");
    for (const jump of JUMPS) {
      for (const host of HOSTS) if (jump[host] !== undefined) clocks[host].set(jump[host]);
      await sleep(BETWEEN_JUMPS_MS);
    }
    for (const load of loads) {
      const report = await load.stop();
      expect(report).toMatchObject({ refusals: [], unserved: [], lost: [], hung: [] });
      expect(report.answered).toBeGreaterThan(20);
    }
    for (const long of held) expect(await long.close()).toMatchObject({ end: "" });
    expect(everyLog()).not.toMatch(/agent disconnected|lost server|nothing comes through/);
    expect([await checks("failed"), (await checks("ok")) - before > 10]).toEqual([0, true]);
  });

  test("log lines have the time of the host, before and after a jump", async () => {
    clocks.server.set(-6);
    await tunnel.dial("127.0.0.1:1");
    const hour = new Date(Date.now() - 6 * 3_600_000).toISOString().slice(11, 13);
    await waitUntil("a line with that hour", () => tunnel.server.process.log.text.includes(` ${hour}:`));
    clocks.server.set(0);
  });

  test("certificates are judged by the clock of the host, again after each jump, and those in use stay so", async () => {
    const long = await LongTunnel.open("held", frontend(), target);
    clocks.server.set(13);
    await expect(LongTunnel.open("late", frontend(), target)).rejects.toThrow(/403|expired/);
    clocks.server.set(-13);
    await expect(LongTunnel.open("early", frontend(), target)).rejects.toThrow(/403|not yet valid/);
    clocks.server.set(0);
    const late = clock("late", 13);
    const agent = scope.use(
      (await startAgent({ origin: "ours", serverPort: tunnel.place.agentPort, pki, through: late.through })).process,
    );
    await waitUntil("an agent whose clock is ahead to say why it has no server", () =>
      /certificate.*expired/.test(agent.log.text),
    );
    late.set(0);
    await waitUntil("the agent to be connected once its clock is right", () => /connected/.test(agent.log.text));
    expect(await long.close()).toMatchObject({ end: "" });
    await (await LongTunnel.open("again", frontend(), target)).close();
  });

  test("renewed certificates are taken up, though the files are older than the clock says", async () => {
    for (const host of HOSTS) clocks[host].set(13);
    const long = await LongTunnel.open("sidecar", throughSidecar(), target).catch((reason: Error) => reason);
    expect(long).toBeInstanceOf(Error);
    const renewed = certificatesOf("renewed", 13 + BACKDATED_HOURS);
    for (const { ca, cert, key } of Object.values(renewed) as TestPki["agent"][]) {
      for (const file of [ca, cert, key]) copyFileSync(file, join(dir, "now", basename(file)));
    }
    const again = await waitUntil("a tunnel with the new certificates", () =>
      LongTunnel.open("renewed", throughSidecar(), target),
    );
    expect((await again.close()).end).toBe("");
    await tunnel.server.untilReady();
    expect(await metric(tunnel.place.healthPort, "konnectivity_network_proxy_server_ready_backend_connections")).toBe(
      3,
    );
    expect(sidecar.running).toBe(true);
  });
});
