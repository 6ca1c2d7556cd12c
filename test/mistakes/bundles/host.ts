/**
 * A bootstrap host whose programs really run, ours or upstream's, and the bundle that `gather` makes of it: its script
 * reads what the processes logged, and asks their ports. Nothing in a bundle is written by hand.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { stringify } from "yaml";
import { collectionScript } from "../../../src/cluster/bootstrap/gather/host.js";
import { bootstrapCalls, nodeCalls } from "../../../src/cluster/bootstrap/gather/plan.js";
import { START_WITHIN_MS, waitUntil } from "../../support/processes/deadline.js";
import { executable, type Origin, type Program } from "../../support/processes/executables.js";
import type { RunningProcess } from "../../support/processes/process.js";
import type { Files } from "../framework/certificates.js";
import { PORT, type Stage } from "../framework/stage.js";

const RECORDS = fileURLToPath(new URL("../../support/ignition-fixtures/service-record.sh", import.meta.url));
const FUNCTIONS = fileURLToPath(new URL("../../../src/cluster/bootstrap/shell/functions.sh", import.meta.url));
const CONFIGS = "etc/kubernetes/bootstrap-configs";
/** Where the kube-apiserver's pod has that directory. */
const SEEN_AS = "/etc/kubernetes/config";
const SOCKET = "konnectivity-server.socket";

export class BundledHost {
  readonly stage: Stage;
  readonly origin: Origin;
  /** Its file system. */
  readonly root: string;
  readonly #logs = new Map<string, () => string>();
  #agent: RunningProcess | undefined;

  constructor(stage: Stage, origin: Origin) {
    this.stage = stage;
    this.origin = origin;
    this.root = stage.file(`root-${origin}`);
    rmSync(this.root, { recursive: true, force: true });
    mkdirSync(join(this.root, CONFIGS), { recursive: true });
  }

  put(path: string, content: string | object): string {
    const file = join(this.root, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, typeof content === "string" ? content : stringify(content));
    return file;
  }

  /** Under its name on the host. */
  get socket(): string {
    return join(this.root, CONFIGS, SOCKET);
  }

  /** The log of a container of the host, or of its node. */
  keepLog(container: string, log: () => string): void {
    this.#logs.set(container, log);
  }

  #start(program: Program, args: readonly string[], through: readonly string[] = []): RunningProcess {
    const words = [...through, executable(this.origin, program), ...args];
    const process = this.stage.start(program, words);
    this.keepLog(program.replace("proxy", "konnectivity"), () => process.log.text);
    return process;
  }

  /** As a static pod: its manifest has the flags that it runs with, by the names that the host has for its files. */
  async server(options: { readonly cert?: Files } = {}): Promise<void> {
    const { cert = this.stage.pki.server } = options;
    const flags = (socket: string) => [
      ...["--mode=grpc", "--server-port=0", `--uds-name=${socket}`, `--agent-port=${PORT.agents}`],
      ...[`--cluster-cert=${cert.cert}`, `--cluster-key=${cert.key}`, `--cluster-ca-cert=${this.stage.pki.ca.cert}`],
      ...[`--health-port=${PORT.serverHealth}`, `--admin-port=${PORT.serverAdmin}`, "--proxy-strategies=defaultRoute"],
    ];
    const command = ["/usr/bin/proxy-server"];
    const container = { name: "konnectivity-server", command, args: flags(`/${CONFIGS}/${SOCKET}`) };
    this.put("etc/kubernetes/manifests/konnectivity-server-pod.yaml", {
      ...{ apiVersion: "v1", kind: "Pod", spec: { containers: [container] } },
    });
    const process = this.#start("proxy-server", flags(this.socket));
    const isUp = async () => (await this.stage.get(PORT.serverHealth, "/healthz")).startsWith("200");
    await waitUntil("the server to be healthy", isUp, {
      ...{ withinMs: START_WITHIN_MS, context: () => process.log.tail() },
    });
  }

  agent(options: { readonly ca?: string; readonly host?: string; readonly through?: readonly string[] } = {}): void {
    const { ca = this.stage.pki.ca.cert, host = "127.0.0.1", through } = options;
    const { cert, key } = this.stage.pki.agent;
    const args = [
      ...[
        `--proxy-server-host=${host}`,
        `--proxy-server-port=${PORT.agents}`,
        `--ca-cert=${ca}`,
        `--agent-cert=${cert}`,
      ],
      ...[`--agent-key=${key}`, "--agent-identifiers=default-route=true", "--sync-interval=200ms"],
      ...["--sync-interval-cap=500ms", `--health-server-port=${PORT.agentHealth}`],
      `--admin-server-port=${PORT.agentAdmin}`,
    ];
    this.#agent = this.#start("proxy-agent", args, through);
  }

  untilAgentSays(what: RegExp): Promise<unknown> {
    const log = () => this.#agent?.log.text ?? "";
    return waitUntil(`the agent to say ${what}`, () => what.test(log()), { withinMs: START_WITHIN_MS, context: log });
  }

  untilAgentFails(): Promise<unknown> {
    return this.untilAgentSays(/cannot connect (once|to)/);
  }

  async isConnected(): Promise<boolean> {
    return (await this.stage.get(PORT.agentHealth, "/readyz")).startsWith("200");
  }

  untilConnected(): Promise<unknown> {
    return waitUntil("the agent to be connected", () => this.isConnected(), { withinMs: START_WITHIN_MS });
  }

  /** The egress configuration for the kube-apiserver; it dials the socket by the name that it has here. */
  egress(socket = this.socket): string {
    const written = (udsName: string) => ({
      ...{ apiVersion: "apiserver.k8s.io/v1beta1", kind: "EgressSelectorConfiguration" },
      egressSelections: [{ name: "cluster", connection: { proxyProtocol: "GRPC", transport: { uds: { udsName } } } }],
    });
    this.put(`${CONFIGS}/egress-selector-config.yaml`, written(`${SEEN_AS}/${SOCKET}`));
    return this.put("used-egress.yaml", written(socket));
  }

  /** What its flags come from. */
  apiServerConfig(apiServerArguments: object): void {
    const kind = { apiVersion: "kubecontrolplane.config.openshift.io/v1", kind: "KubeAPIServerConfig" };
    this.put(`${CONFIGS}/kube-apiserver-config.yaml`, { ...kind, apiServerArguments });
  }

  /** What bootkube.sh does, with the library that records its stages and the functions that the bridge adds to it. */
  async bootkube(steps: string, kubectl = "/bin/false"): Promise<void> {
    const bin = this.stage.folder(`bin-${this.origin}`);
    for (const [name, text] of [
      ["oc", `exec ${kubectl} "$@"`],
      // The unit is not started here: there is no systemd.
      ["systemctl", "exit 0"],
    ] as const)
      writeFileSync(join(bin, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
    const env = {
      ...{ PATH: `${bin}:${process.env.PATH}`, SERVICE_RECORDS_DIR: join(this.root, "var/log/openshift") },
      ...{ KONNECTIVITY_ASSETS: join(this.root, "opt/openshift"), KONNECTIVITY_CLEANUP_SECONDS: "1" },
      KONNECTIVITY_KUBERNETES: join(this.root, "etc/kubernetes"),
    };
    const script = `set -euo pipefail; . ${RECORDS}; . ${FUNCTIONS}; ${steps}`;
    const { code, text } = await this.stage.runWith(env, "bash", "-c", script);
    if (code !== 0) throw new Error(`bootkube ended with ${code}: ${text}`);
  }

  /** Runs gather's own script over the host and its node, in their network. */
  gather(): string {
    for (const [name, log] of this.#logs) this.put(`var/log/pods/ns_${name}_0/${name}/0.log`, log());
    const plan = { logs: [], pki: [], healthPort: PORT.serverHealth, adminPort: PORT.serverAdmin };
    const script = collectionScript([...bootstrapCalls(plan), ...nodeCalls("n1")], this.root);
    const { status, stdout, stderr } = spawnSync("nsenter", [`--net=${this.stage.netns.path}`, "--", "bash", "-s"], {
      ...{ input: script, maxBuffer: 64 << 20 },
    });
    if (status !== 0) throw new Error(`the collection ended with ${status}: ${stderr}`);
    const archive = this.stage.file(`gather-${this.origin}.tar.gz`);
    writeFileSync(archive, gzipSync(stdout));
    return archive;
  }
}
