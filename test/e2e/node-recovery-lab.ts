/** A management cluster and a hosted one, a pool in the first, machines that are played by simulate-node. */
import { readFileSync, writeFileSync } from "node:fs";
import { stringify } from "yaml";
import type { KubeObject } from "../../src/cluster/kube/port.js";
import { defaultPolicy } from "../../src/cluster/nodes/csr/request-context.js";
import { annotation, encoded, type Secret } from "../../src/cluster/nodes/objects.js";
import {
  clusterRules,
  doctorRules,
  inventoryRules,
  namespaceRules,
  type PolicyRule,
} from "../../src/cluster/nodes/permissions.js";
import type { NodePool } from "../../src/cluster/nodes/pool/node-pool.js";
import type { ControlPlane } from "../support/lab/control-plane.js";
import { startOnLoopback } from "../support/lab/loopback.js";
import { LabProcess } from "../support/lab/process.js";
import { type Outcome, run } from "../support/lab/run.js";
import { Scope } from "../support/lab/scope.js";
import { until } from "../support/lab/wait.js";
import { ours } from "../support/processes/executables.js";
import { freePort } from "../support/processes/ports.js";
import { accessObjects, startSigner } from "./csr-lab.js";

export const NAMESPACE = "drawbridge";
/** Where HyperShift has the control plane of a pool's cluster. */
export const CONTROL_PLANE = "drawbridge-demo";
export const SOON = 60_000;
const DRAWBRIDGE = ours("drawbridge");

export interface Finding {
  readonly check: string;
  readonly code?: string;
  readonly subject: string;
  readonly state: string;
  readonly message: string;
  readonly evidence: readonly string[];
  readonly remedy: string;
  readonly fix?: string;
}

export interface Verdict {
  readonly ok: boolean;
  readonly code: number;
  readonly findings: readonly Finding[];
  readonly fixes: readonly { readonly code: string; readonly outcome: string; readonly result: string }[];
  readonly text: string;
}

const DOCTOR = "workers-doctor";
const ONLOOKER = "workers-onlooker";
const OVN = "openshift-ovn-kubernetes";
const rbac = "rbac.authorization.k8s.io";

/** With a binding; in every namespace when none is given. */
function right(user: string, namespace: string | undefined, rules: readonly PolicyRule[]): KubeObject[] {
  const metadata = { name: user, ...(namespace === undefined ? {} : { namespace }) };
  const kind = namespace === undefined ? "ClusterRole" : "Role";
  const subjects = [{ apiGroup: rbac, kind: "User", name: user }];
  const binding = { roleRef: { apiGroup: rbac, kind, name: user }, subjects };
  return [
    { apiVersion: `${rbac}/v1`, kind, metadata, rules } as KubeObject,
    { apiVersion: `${rbac}/v1`, kind: `${kind}Binding`, metadata, ...binding } as KubeObject,
  ];
}

const both = ({ fix, look }: { look: readonly PolicyRule[]; fix: readonly PolicyRule[] }) => [...look, ...fix];
const { approver, cluster, controlPlane, network, pool } = doctorRules;

/** What --help names, and nothing else: for one who may fix, and for one who may only look. */
const managementRights = [
  ...right(DOCTOR, NAMESPACE, both(pool)),
  ...right(DOCTOR, CONTROL_PLANE, both(controlPlane)),
  ...right(ONLOOKER, NAMESPACE, pool.look),
  ...right(ONLOOKER, CONTROL_PLANE, controlPlane.look),
];
const hostedRights = [
  ...right(DOCTOR, undefined, [...both(cluster), ...clusterRules]),
  ...right(DOCTOR, NAMESPACE, [...both(approver), ...namespaceRules, ...inventoryRules]),
  ...right(DOCTOR, OVN, both(network)),
  ...right(ONLOOKER, undefined, cluster.look),
  ...right(ONLOOKER, NAMESPACE, approver.look),
  ...right(ONLOOKER, OVN, network.look),
];

const configMap = (name: string, content: object): KubeObject =>
  ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: NAMESPACE }, ...content }) as KubeObject;

export class RecoveryLab {
  readonly scope = new Scope("recovery");
  readonly #hostedScope = new Scope("recovery-hosted");
  readonly state = this.scope.file("state");
  management!: ControlPlane;
  hosted!: ControlPlane;
  ignitionPort = 0;
  /** Kubeconfigs by user, for the pools and for the nodes. */
  readonly #access = new Map<string, readonly [pools: string, nodes: string]>();

  async start(): Promise<void> {
    [this.management, this.hosted] = await Promise.all([
      startOnLoopback(this.scope),
      startOnLoopback(this.#hostedScope),
    ]);
    this.ignitionPort = await freePort();
    const namespace = (name: string) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
    await Promise.all([
      startSigner(this.#hostedScope, this.hosted),
      this.hosted.admin.apply(...accessObjects, namespace(OVN), ...hostedRights),
      this.management.admin.apply(namespace(NAMESPACE), namespace(CONTROL_PLANE), ...managementRights),
    ]);
    for (const user of [DOCTOR, ONLOOKER]) {
      this.#access.set(user, [this.management.kubeconfig(user), this.hosted.kubeconfig(user)]);
    }
    writeFileSync(this.scope.file("payload.yaml"), "profile: kubelet\nkubelet: {clusterDns: [10.96.0.10]}\n");
  }

  async stop(): Promise<void> {
    await Promise.all([this.scope.close(), this.#hostedScope.close()]);
  }

  drawbridge(...args: string[]): Promise<Outcome> {
    return run([DRAWBRIDGE, ...args]);
  }

  async must(...args: string[]): Promise<string> {
    const { code, stderr, stdout } = await this.drawbridge(...args);
    if (code !== 0) throw new Error(`drawbridge ${args.join(" ")} ended with ${code}: ${stderr}`);
    return stdout;
  }

  process(name: string, ...args: string[]): LabProcess {
    return LabProcess.start(this.scope, { name, command: [DRAWBRIDGE, ...args] });
  }

  get #pools(): string[] {
    return [`--kubeconfig=${this.management.adminConfig}`, `--namespace=${NAMESPACE}`];
  }

  startController(): LabProcess {
    return this.process("controller", "nodepool", "controller", "--issue-certificate", ...this.#pools);
  }

  startIgnition(): LabProcess {
    const serving = [`--addr=0.0.0.0:${this.ignitionPort}`, "--metrics-addr=127.0.0.1:0"];
    const from = [`--payload=${this.scope.file("payload.yaml")}`, "--cert-secret=drawbridge-ignition-serving-cert"];
    return this.process("ignition", "ignition", "serve", ...this.#pools, ...serving, ...from);
  }

  async installPool(): Promise<void> {
    await this.must(
      "nodepool",
      "install",
      "--image=registry.example/drawbridge:1",
      `--kubeconfig=${this.management.adminConfig}`,
    );
    const pool = {
      apiVersion: "hypershift.openshift.io/v1beta1",
      kind: "NodePool",
      metadata: { name: "workers", namespace: NAMESPACE },
    };
    const spec = {
      clusterName: "demo",
      release: { image: "registry.example/release:4.18.0" },
      platform: { type: "None" },
      management: { upgradeType: "InPlace" },
      config: [{ name: "workers-config" }],
    };
    writeFileSync(this.scope.file("pool.yaml"), stringify({ ...pool, spec }));
    await this.management.admin.apply(this.cluster(), this.poolConfig("first"));
    await until("the pool is taken", SOON, async () => {
      const apply = await this.drawbridge("nodepool", "apply", "-f", this.scope.file("pool.yaml"), ...this.#pools);
      return apply.code === 0;
    });
  }

  cluster(more: Readonly<Record<string, string>> = {}): KubeObject {
    const data = {
      apiServer: this.hosted.api.url,
      apiServerCA: readFileSync(this.hosted.ca.cert, "utf8"),
      ignitionEndpoint: `127.0.0.1:${this.ignitionPort}`,
      version: "4.18.0",
      ...more,
    };
    const labels = { "drawbridge/cluster": "true" };
    return configMap("demo", { metadata: { name: "demo", namespace: NAMESPACE, labels }, data });
  }

  poolConfig(name: string): KubeObject {
    const config = {
      ignition: { version: "3.2.0" },
      storage: { files: [{ path: `/etc/${name}`, contents: { source: "data:,1" } }] },
    };
    const document = {
      apiVersion: "machineconfiguration.openshift.io/v1",
      kind: "MachineConfig",
      metadata: { name },
      spec: { config },
    };
    return configMap("workers-config", { data: { config: stringify(document) } });
  }

  /** The machines' common credential, for the hosted cluster. */
  async bootstrapSecret(): Promise<Secret> {
    const [, , namespace = "", account = ""] = defaultPolicy.bootstrapUser.split(":");
    const token = (
      await this.hosted.admin.run(["create", "token", account, "-n", namespace, "--duration=720h"])
    ).trim();
    const authority = readFileSync(this.hosted.ca.cert).toString("base64");
    const kubeconfig = stringify({
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "hosted", cluster: { server: this.hosted.api.url, "certificate-authority-data": authority } }],
      users: [{ name: "machine", user: { token } }],
      contexts: [{ name: "hosted", context: { cluster: "hosted", user: "machine" } }],
      "current-context": "hosted",
    });
    const metadata = { name: "bootstrap-kubeconfig", namespace: NAMESPACE };
    return { apiVersion: "v1", kind: "Secret", metadata, data: { kubeconfig: encoded(kubeconfig) } };
  }

  createWorkers(count: number, prefix: string, ...more: string[]): Promise<string> {
    const flags = ["--pool=workers", `--count=${count}`, `--name-prefix=${prefix}`, `--state=${this.state}`];
    const hosted = [`--hosted-kubeconfig=${this.hosted.adminConfig}`];
    return this.must("workers", "create", ...flags, ...this.#pools, ...hosted, ...more);
  }

  doctorFlags(...more: string[]): string[] {
    return this.#doctorFlagsOf(DOCTOR, more);
  }

  #doctorFlagsOf(user: string, more: readonly string[]): string[] {
    const [forPools, forNodes] = this.#access.get(user)!;
    const pools = [`--kubeconfig=${forPools}`, `--namespace=${NAMESPACE}`];
    const hosted = [`--hosted-kubeconfig=${forNodes}`, "--node-cidr=10.0.0.0/24"];
    return ["workers", "doctor", "--pool=workers", `--state=${this.state}`, ...pools, ...hosted, ...more];
  }

  doctor(...more: string[]): Promise<Verdict> {
    return this.#doctorAs(DOCTOR, more);
  }

  /** By one who has the rights to look and no others. */
  look(): Promise<Verdict> {
    return this.#doctorAs(ONLOOKER, []);
  }

  async #doctorAs(user: string, more: readonly string[]): Promise<Verdict> {
    const flags = this.#doctorFlagsOf(user, ["--output=json", ...more]);
    const { code, stderr, stdout } = await this.drawbridge(...flags);
    if (stderr !== "") throw new Error(stderr);
    const { ok, pools } = JSON.parse(stdout) as { ok: boolean; pools: [Pick<Verdict, "findings" | "fixes">] };
    return { ok, code, text: stdout, ...pools[0] };
  }

  userData(worker: string): string {
    return readFileSync(`${this.state}/${worker}.ign`, "utf8");
  }

  writeUserData(worker: string, text: string): void {
    writeFileSync(`${this.state}/${worker}.ign`, text);
  }

  boot(worker: string, root: string, ...more: string[]): Promise<Outcome> {
    const file = `${this.state}/${worker}.ign`;
    return this.drawbridge("simulate-node", file, `--root=${this.scope.file(root)}`, "--output=json", ...more);
  }

  async pool(): Promise<NodePool> {
    return this.management.admin.json<NodePool>(["get", "nodepool", "workers", "-n", NAMESPACE]);
  }

  async hash(): Promise<string> {
    return (await this.pool()).metadata?.annotations?.[annotation.currentConfigVersion] ?? "";
  }

  async tokenSecret(hash?: string): Promise<Secret> {
    return this.management.admin.json<Secret>([
      "get",
      "secret",
      `token-workers-${hash ?? (await this.hash())}`,
      "-n",
      NAMESPACE,
    ]);
  }

  /** What a kubelet, or whoever misses it, says about a node. */
  async setReady(node: string, status: "True" | "False"): Promise<void> {
    const condition = { type: "Ready", status, reason: "Lab", message: `the lab says ${status}` };
    const patch = JSON.stringify({ status: { conditions: [condition] } });
    await this.hosted.admin.run(["patch", "node", node, "--subresource=status", "--type=merge", "-p", patch]);
  }

  annotate(secret: Secret, key: string, value: string): Promise<string> {
    return this.management.admin.run([
      "annotate",
      "--overwrite",
      "secret",
      secret.metadata?.name ?? "",
      "-n",
      NAMESPACE,
      `${key}=${value}`,
    ]);
  }
}
