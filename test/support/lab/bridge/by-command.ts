import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { BridgeUpResult } from "../../../../src/cluster/bootstrap/host/up.js";
import { type Answer, get } from "../http.js";
import { metric } from "../metrics.js";
import { SERVER_METRIC } from "../proxy-server.js";
import type { Outcome } from "../run.js";
import { until } from "../wait.js";
import { ApiServerSwitch } from "./api-server-switch.js";
import type { BridgeLab } from "./lab.js";

/** Name of the agents' DaemonSet and their label, and the namespace of everything in the cluster. */
export const AGENTS = "konnectivity-agent";
export const NAMESPACE = "drawbridge-bootstrap";
/** Where agents dial the server. */
export const AGENT_PORT = 8091;
const HEALTH = "http://127.0.0.1:2041";
const DRAWBRIDGE = fileURLToPath(new URL("../../../../dist/bin/drawbridge", import.meta.url));
/** --sync-interval-cap of the manifests with its jitter, and some time for a machine that has other things to do. */
const RECONNECT_WITHIN_MS = 30_000 * 1.1 + 15_000;
/** Longer than any of the commands waits by itself. */
const LIMIT_MS = 170_000;

export interface AgentPod {
  readonly metadata: { readonly name: string; readonly deletionTimestamp?: string };
  readonly spec: { readonly nodeName?: string };
  readonly status: {
    readonly podIP?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

/** A bridge in the lab that `drawbridge bootstrap` brings up, proves and takes away, as on a bare host. */
export class BridgeByCommand {
  readonly socket: string;
  readonly egressFile: string;
  /** Of everything the bridge puts on the host. */
  readonly directories: { readonly state: string; readonly run: string; readonly etc: string };
  readonly apiServer: ApiServerSwitch;
  readonly #lab: BridgeLab;
  readonly #programs: readonly string[];

  private constructor(lab: BridgeLab, label: string, apiServer: ApiServerSwitch, programs: readonly string[]) {
    const at = (part: string) => lab.scope.file(`${label}-drawbridge-${part}`);
    this.directories = { state: at("state"), run: at("run"), etc: at("etc") };
    this.socket = join(this.directories.run, "konnectivity-server.socket");
    this.egressFile = join(this.directories.etc, "egress-selector-config.yaml");
    this.apiServer = apiServer;
    this.#lab = lab;
    this.#programs = programs;
  }

  /** `programs`: flags of `up` that say whose programs run, and how they talk. */
  static async plan(lab: BridgeLab, label: string, programs: readonly string[]): Promise<BridgeByCommand> {
    const apiServer = await ApiServerSwitch.make(lab, lab.scope.file(`${label}.switch`));
    const bridge = new BridgeByCommand(lab, label, apiServer, programs);
    // The server outlives the command that started it, and must not outlive the lab, however that ends.
    const endServer = () => bridge.endServer("SIGKILL");
    process.once("exit", endServer);
    lab.scope.defer(() => {
      process.off("exit", endServer);
      endServer();
    });
    return bridge;
  }

  /** Safe to repeat. */
  up(...more: readonly string[]): Promise<Outcome> {
    const { state, run, etc } = this.directories;
    return this.#drawbridge("up", [
      ...[
        `--state-dir=${state}`,
        "--for-platform=bare",
        "--server=process",
        `--kubeconfig=${this.#lab.bs.adminConfig}`,
      ],
      ...[`--runtime-directory=${run}`, `--config-directory=${etc}`, "--timeout=2m", ...this.#programs],
      ...[`--apply-command=${this.apiServer.applyCommand}`, `--restore-command=${this.apiServer.restoreCommand}`],
      ...more,
    ]);
  }

  status(...more: readonly string[]): Promise<Outcome> {
    return this.#drawbridge("status", [`--state-dir=${this.directories.state}`, ...more]);
  }

  verify(...more: readonly string[]): Promise<Outcome> {
    return this.#drawbridge("verify", [
      ...["--for=bare", `--kubeconfig=${this.#lab.bs.adminConfig}`, `--egress-config=${this.egressFile}`],
      ...[`--pki=${join(this.directories.etc, "pki")}`, `--address=${this.#lab.bs.address}`, ...more],
    ]);
  }

  teardown(...more: readonly string[]): Promise<Outcome> {
    return this.#drawbridge("teardown", [
      ...[`--state-dir=${this.directories.state}`, `--kubeconfig=${this.#lab.bs.adminConfig}`, ...more],
    ]);
  }

  /** Of the server, as a probe on the bootstrap host sees it. */
  health(path: "/healthz" | "/readyz" | "/metrics"): Promise<Answer> {
    return get(`${HEALTH}${path}`, this.#lab.bs.netns);
  }

  async readyBackends(): Promise<number> {
    return metric((await this.health("/metrics")).body, `${SERVER_METRIC}_ready_backend_connections`);
  }

  /** Dials that came to an end, well or not. */
  async dialsDone(): Promise<number> {
    return metric((await this.health("/metrics")).body, `${SERVER_METRIC}_dial_duration_seconds_count`);
  }

  async agentsConnected(count: number, withinMs: number): Promise<void> {
    await until(`${count} agents to be connected`, withinMs, async () => (await this.readyBackends()) === count);
  }

  /** All of them, by themselves: as soon as their manifests let them try again. */
  agentsReconnected(): Promise<void> {
    return this.agentsConnected(this.#lab.nodes.length, RECONNECT_WITHIN_MS);
  }

  /** Those that are to stay. */
  async agentPods(): Promise<AgentPod[]> {
    const { items } = await this.#lab.bs.admin.json<{ items: AgentPod[] }>([
      ...["get", "pods", "-n", NAMESPACE, "-l", `app=${AGENTS}`],
    ]);
    return items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  }

  /** As a probe sees it. */
  agentReadiness({ spec, status }: AgentPod): Promise<Answer> {
    const node = this.#lab.nodes.find(({ name }) => name === spec.nodeName);
    return get(`http://${status.podIP}:2041/readyz`, node?.netns);
  }

  /** Stops all agents: no node is one on which they may run. They are not given the time to drain. */
  async sendAgentsAway(): Promise<void> {
    const pods = ["pods", "-n", NAMESPACE, "-l", `app=${AGENTS}`];
    const endSoon = () => this.#lab.kubectl("delete", ...pods, "--grace-period=1", "--wait=false");
    // Whoever deletes a pod first decides how long it may take.
    await endSoon();
    await this.#selectNodes({ nowhere: "yes" });
    // Others may have been started in their place in between.
    await endSoon();
    await until("every agent's pod to be gone", 60_000, async () => {
      return (await this.#lab.kubectl("get", ...pods, "-oname")).trim() === "";
    });
  }

  letAgentsBack(): Promise<void> {
    return this.#selectNodes(null);
  }

  /** With the last agent. */
  async isNamespaceGone(): Promise<boolean> {
    return (await this.#lab.bs.admin.try(["get", "namespace", NAMESPACE])).stderr.includes("NotFound");
  }

  /** What is left of it on the host. */
  remains(): string[] {
    const paths = [this.socket, ...Object.values(this.directories)].filter((path) => existsSync(path));
    return this.serverRuns ? ["server", ...paths] : paths;
  }

  get serverRuns(): boolean {
    return this.#serverPid() !== undefined;
  }

  endServer(signal: NodeJS.Signals): void {
    const pid = this.#serverPid();
    if (pid !== undefined) process.kill(pid, signal);
  }

  async #selectNodes(nodeSelector: object | null): Promise<void> {
    const patch = JSON.stringify({ spec: { template: { spec: { nodeSelector } } } });
    await this.#lab.kubectl("patch", "-n", NAMESPACE, `daemonset/${AGENTS}`, "--type=merge", "-p", patch);
  }

  #serverPid(): number | undefined {
    const file = join(this.directories.state, "server.pid");
    if (!existsSync(file)) return undefined;
    const pid = Number(readFileSync(file, "utf8"));
    // The number may have become somebody else's.
    return existsSync(`/proc/${pid}`) && commandLine(pid).includes(this.socket) ? pid : undefined;
  }

  #drawbridge(verb: string, flags: readonly string[]): Promise<Outcome> {
    return this.#lab.bs.run([DRAWBRIDGE, "bootstrap", verb, ...flags], { timeoutMs: LIMIT_MS });
  }
}

export function isReady({ status }: AgentPod): boolean {
  return status.conditions?.some(({ type, status: value }) => type === "Ready" && value === "True") ?? false;
}

/** Of `up --output=json`. */
export function upResult({ stdout }: Outcome): BridgeUpResult {
  return JSON.parse(stdout) as BridgeUpResult;
}

/** Empty when it is gone by now. */
export function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
  } catch {
    return "";
  }
}
