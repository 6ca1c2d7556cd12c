import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { proxyPorts } from "../../../../src/cluster/hosted/model/names.js";
import { component } from "../../lab/equipment.js";
import { configMap, SERVICE, NAMESPACE as WORKLOADS } from "../../lab/objects.js";
import { LabProcess } from "../../lab/process.js";
import { until } from "../../lab/wait.js";
import { AGGREGATED_GROUP, AGGREGATED_VERSION } from "../../lab/webhook/aggregated.js";
import { COMPONENT, type HostedCluster, PLANE_API } from "../cluster.js";
import { NAMESPACE } from "../objects.js";
import { API_NAME, API_PORT } from "../plane.js";
import { HOOK, TALKER } from "../workloads.js";
import { parseLine } from "./calls.js";
import { LogReader } from "./log-reader.js";
import { type Report, Tally } from "./report.js";
import type { Settings } from "./settings.js";

export interface TrafficOptions {
  readonly writesPerSecond?: number;
  /** Of each aggregated API, and of SOCKS5. */
  readonly callsPerSecond?: number;
  readonly sessionsPerSecond?: number;
}

interface Kubeconfig {
  readonly users: [{ readonly user: { readonly "client-certificate": string; readonly "client-key": string } }];
}

const FIRST_CALLS_MS = 60_000;
/** Longer than any call may take. */
const LAST_CALLS_MS = 30_000;

/** Kinds of calls of aggregated APIs, and where they go. */
const AGGREGATED = { aggregated: AGGREGATED_GROUP, "plane-api": PLANE_API.group };
/** By HTTPS in the hosted cluster, as the component's sidecar is asked for it. */
const SOCKS5 = { host: `${SERVICE}.${WORKLOADS}.svc`, port: proxyPorts.first };

const pathIn = (group: string) => `/apis/${group}/${AGGREGATED_VERSION}/gauges/first`;

/**
 * Callers of a hosted cluster that go on and on while things are done to it, behind a balancer that knows the
 * kube-apiserver's pods, and what became of their calls. A scene is what happens from `mark` to `count`.
 */
export class Traffic {
  readonly #process: LabProcess;
  readonly #reader: LogReader;
  readonly #kinds: readonly string[];
  readonly #tally = new Tally();
  #markedAt = Date.now();

  private constructor(running: LabProcess, kinds: readonly string[]) {
    this.#process = running;
    this.#reader = new LogReader(running.logFile);
    this.#kinds = kinds;
  }

  /** Returns when a call of each kind was served. */
  static async start(cluster: HostedCluster, options: TrafficOptions = {}): Promise<Traffic> {
    const { scope } = cluster.lab;
    const folder = scope.file("traffic");
    mkdirSync(folder);
    const settings = settingsOf(cluster, options, folder);
    await startLoop(cluster, settings.perSecond.calls);
    const file = scope.file("traffic.json");
    writeFileSync(file, JSON.stringify(settings));
    const program = fileURLToPath(new URL("./main.ts", import.meta.url));
    const running = LabProcess.start(scope, {
      // Only the node reaches its pods.
      ...{ name: "traffic-calls", netns: cluster.node.netns },
      command: [process.execPath, "--import", import.meta.resolve("tsx"), program, file],
    });
    const kinds = ["write", "exec", "socks5", ...Object.keys(AGGREGATED)];
    const traffic = new Traffic(running, kinds);
    await running.ready("a call of each kind was served", FIRST_CALLS_MS, () => {
      traffic.#read();
      return kinds.every((kind) => traffic.#tally.served(kind) > 0);
    });
    traffic.mark();
    return traffic;
  }

  get markedAt(): number {
    return this.#markedAt;
  }

  /** From here on, calls that begin are counted anew. */
  mark(): void {
    this.#markedAt = Date.now();
    this.#tally.mark(this.#markedAt);
  }

  /**
   * Waits for the end of the calls that have begun, and counts those since the mark. `taken`: names of kube-apiserver
   * pods and of nodes that were taken away; failed sessions that were open there are told apart.
   */
  async count(taken: readonly string[] = []): Promise<Report> {
    const now = Date.now();
    await until("the open calls to end", LAST_CALLS_MS, () => {
      if (!this.#process.alive) throw new Error("the callers have ended by themselves");
      this.#read();
      return this.#tally.hasAll(this.#kinds, now);
    });
    return this.#tally.report(taken);
  }

  /** Nobody calls while something is done that is not looked at. */
  pause(): void {
    process.kill(this.#process.pid, "SIGSTOP");
  }

  resume(): void {
    process.kill(this.#process.pid, "SIGCONT");
    this.mark();
  }

  async stop(taken: readonly string[] = []): Promise<Report> {
    const report = await this.count(taken);
    await this.#process.kill();
    return report;
  }

  #read(): void {
    this.#reader.read((text) => {
      const line = parseLine(text);
      if (line !== undefined) this.#tally.take(line);
    });
  }
}

function settingsOf(cluster: HostedCluster, options: TrafficOptions, folder: string): Settings {
  const { lab, plane } = cluster;
  const { user } = (JSON.parse(readFileSync(plane.adminConfig, "utf8")) as Kubeconfig).users[0];
  const { writesPerSecond = 50, callsPerSecond = 5, sessionsPerSecond = 0.6 } = options;
  return {
    ...{ kubectl: component("kubectl"), folder },
    management: {
      ...{ kubeconfig: lab.bs.adminConfig, namespace: NAMESPACE, apiServers: `app=${API_NAME}`, apiPort: API_PORT },
      component: COMPONENT,
    },
    hosted: {
      ca: plane.ca.cert,
      client: { cert: user["client-certificate"], key: user["client-key"] },
      ...{ configMap: configMap("traffic", HOOK), namespace: WORKLOADS, talkers: `app=${TALKER}` },
      aggregated: Object.fromEntries(Object.entries(AGGREGATED).map(([kind, group]) => [kind, pathIn(group)])),
    },
    perSecond: { writes: writesPerSecond, calls: callsPerSecond, sessions: sessionsPerSecond },
  };
}

/** Makes calls by SOCKS5 the work of the component's own container. */
async function startLoop(cluster: HostedCluster, perSecond: number): Promise<void> {
  const program = readFileSync(new URL("./component-loop.mjs", import.meta.url), "utf8");
  const words = [String(SOCKS5.port), SOCKS5.host, pathIn(AGGREGATED_GROUP), String(perSecond)];
  const command = ["/usr/bin/node", "--input-type=module", "-e", program, ...words];
  const patch = { spec: { template: { spec: { containers: [{ name: COMPONENT, command }] } } } };
  await cluster.lab.kubectl("patch", "deployment", COMPONENT, "-n", NAMESPACE, "-p", JSON.stringify(patch));
  await cluster.rolledOut(COMPONENT);
}
