/**
 * A management cluster with pools, and a hosted one that machines join, both without HyperShift; drawbridge's parts as processes
 * with the rights of what `nodepool install` gave them, and two of each that elect a leader.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { stringify } from "yaml";
import type { KubeObject } from "../../src/cluster/kube/port.js";
import type { DecisionEntry } from "../../src/cluster/nodes/csr/decide.js";
import { BOOTSTRAPPER } from "../../src/cluster/nodes/csr/request-context.js";
import { CLAIMS_CONFIG_MAP, IGNITION_SERVER_NAME } from "../../src/cluster/nodes/install/render.js";
import { annotation, encoded, SERVING_CERTIFICATE_SECRET } from "../../src/cluster/nodes/objects.js";
import {
  APPROVER_NAME,
  BOOTSTRAP_TOKEN_ROLE_NAME,
  CONTROLLER_NAME,
  claimRules,
  machineControllerClusterRules,
  machineControllerRules,
  type PolicyRule,
} from "../../src/cluster/nodes/permissions.js";
import type { NodePool } from "../../src/cluster/nodes/pool/node-pool.js";
import type { WorkerObject } from "../../src/cluster/nodes/workers/resource.js";
import { type ControlPlane, makeControlPlane } from "../support/lab/control-plane.js";
import { startControllerManager } from "../support/lab/controller-manager.js";
import { component, controlPlaneExecutables } from "../support/lab/equipment.js";
import { BOOTSTRAP, Hosts, INFRA } from "../support/lab/hosts.js";
import { LabProcess } from "../support/lab/process.js";
import { must, type Outcome, run } from "../support/lab/run.js";
import { startScheduler } from "../support/lab/scheduler.js";
import { Scope } from "../support/lab/scope.js";
import { until } from "../support/lab/wait.js";
import { ours } from "../support/processes/executables.js";
import { decisionsIn } from "./csr-lab.js";
import { Machines } from "./nodes-machines.js";
import { NAMESPACE, POOL, poolAndConfig, poolConfig, poolObjects } from "./nodes-objects.js";

export const SOON = 90_000;
const IGNITION_PORT = 22_624;
const IMAGE = "--image=registry.example/drawbridge:1";
/** Where all machines are. */
const MACHINES_NETWORK = "192.168.66.0/24";
const PLACES = 6;

/** How soon a node that says nothing any more is NotReady; its kubelet speaks four times as often. */
const SILENT_AFTER_SECONDS = 16;

/** The policy by which machines are let in, for the approver and for whoever asks what it thinks. */
const POLICY = [
  "--require-claim",
  ...["10.96.0.0/16", "10.128.0.0/14", `${BOOTSTRAP}/32`, `${INFRA}/32`].map((network) => `--foreign-cidr=${network}`),
];

/** The programs of which one of two works. */
export type Elected = "controller" | "approver" | "machines";
const LEADS: Readonly<Record<Elected, string>> = {
  controller: "this replica looks after",
  approver: "this replica decides",
  machines: "this replica keeps the machines",
};

export interface ListedWorker {
  readonly name: string;
  readonly node: string;
  readonly hash: string;
  readonly configuration: string;
}

export class NodesLab {
  readonly scope: Scope;
  readonly management: ControlPlane;
  readonly hosted: ControlPlane;
  readonly machines: Machines;
  readonly #hosts: Hosts;
  readonly #replicas: Readonly<Record<Elected, LabProcess[]>> = { controller: [], approver: [], machines: [] };
  readonly #decisionLogs: readonly string[];

  private constructor(scope: Scope, hosts: Hosts, planes: readonly [ControlPlane, ControlPlane], machines: Machines) {
    this.scope = scope;
    [this.management, this.hosted] = planes;
    this.#hosts = hosts;
    this.machines = machines;
    this.#decisionLogs = ["a", "b"].map((replica) => this.scope.file(`decisions-${replica}.jsonl`));
    for (const file of this.#decisionLogs) writeFileSync(file, "", { mode: 0o600 });
  }

  /** Both control planes, and places for machines. */
  static async start(ignition: string): Promise<NodesLab> {
    const scope = new Scope("nodes");
    try {
      const hosts = await Hosts.make(scope);
      const hostedScope = new Scope("nodes-hosted");
      // Its programs end before the networks that they are in.
      scope.defer(() => hostedScope.close());
      for (let count = 0; count < PLACES; count++) await hosts.addNode();
      const executables = controlPlaneExecutables();
      const planes = await Promise.all([
        makeControlPlane(scope, { executables, netns: hosts.bs.name, host: BOOTSTRAP }),
        makeControlPlane(hostedScope, {
          executables,
          netns: hosts.infra.name,
          host: INFRA,
          admitServiceAccounts: true,
        }),
      ]);
      await Promise.all(planes.map(({ apiServer }) => apiServer.start()));
      const [, hosted] = planes;
      await Promise.all([
        startControllerManager(hostedScope, hosted, {
          ...{ executable: component("kube-controller-manager"), signs: true },
          controllers: ["replicaset-controller", "disruption-controller"],
          flags: [`--node-monitor-grace-period=${SILENT_AFTER_SECONDS}s`, "--node-monitor-period=1s"],
        }),
        startScheduler(hostedScope, hosted, { executable: component("kube-scheduler") }),
      ]);
      return new NodesLab(scope, hosts, planes, new Machines(scope, hosts, ignition));
    } catch (error) {
      await scope.close();
      throw error;
    }
  }

  stop(): Promise<void> {
    return this.scope.close();
  }

  /** What `drawbridge workers` prints for somebody who has a host with a disk of its own; it must succeed. */
  workers(host: string, command: string, ...args: readonly string[]): Promise<string> {
    return this.#must("workers", command, ...this.#access, `--state=${this.scope.file(host)}`, ...args);
  }

  #must(...args: readonly string[]): Promise<string> {
    return must([ours("drawbridge"), ...args], { netns: this.#hosts.bs.name });
  }

  /** What the approver would say, by the same policy. */
  csr(...args: readonly string[]): Promise<Outcome> {
    const command = [ours("drawbridge"), "csr", ...args, ...POLICY, `--kubeconfig=${this.hosted.adminConfig}`];
    return run(command, { netns: this.#hosts.bs.name });
  }

  get #access(): string[] {
    return [`--kubeconfig=${this.management.adminConfig}`, `--hosted-kubeconfig=${this.hosted.adminConfig}`];
  }

  /** What workers are made with. */
  get workerFlags(): string[] {
    return [`--pool=${POOL}`, `--node-cidr=${MACHINES_NETWORK}`, ...this.machines.providerFlags];
  }

  /** Into both clusters: what belongs to pools, and what lets machines in. */
  async install(): Promise<void> {
    const install = (plane: ControlPlane, components: string) =>
      this.#must("nodepool", "install", IMAGE, `--components=${components}`, `--kubeconfig=${plane.adminConfig}`);
    await Promise.all([install(this.management, "controller,ignition"), install(this.hosted, "approver")]);
  }

  /** Two controllers, two approvers and the Ignition server, each with the rights of its account. */
  async startParts(): Promise<void> {
    const { hosted, management } = this;
    await hosted.admin.apply(...rights("Role", CLAIMANT, claimRules(CLAIMS_CONFIG_MAP)), tokenBinding);
    const joined = ["--issue-bootstrap-kubeconfig", `--hosted-kubeconfig=${hosted.kubeconfig(TOKEN_MAKER)}`];
    for (const [index, replica] of ["a", "b"].entries()) {
      this.#replicas.controller.push(
        this.#part(
          ...([`controller-${replica}`, management, CONTROLLER_NAME, "nodepool", "controller"] as const),
          ...["--issue-certificate", ...joined],
        ),
      );
      this.#replicas.approver.push(
        this.#part(
          ...([`approver-${replica}`, hosted, APPROVER_NAME, "csr", "approver", "--interval=1s"] as const),
          ...[...POLICY, `--decision-log=${this.#decisionLogs[index]}`],
        ),
      );
    }
    this.#part(
      ...(["ignition-server", management, IGNITION_SERVER_NAME, "ignition", "serve"] as const),
      ...[`--addr=${BOOTSTRAP}:${IGNITION_PORT}`, "--metrics-addr=127.0.0.1:0", `--payload=${this.#recipe()}`],
      ...[`--cert-secret=${SERVING_CERTIFICATE_SECRET}`, `--claims-configmap=${NAMESPACE}/${CLAIMS_CONFIG_MAP}`],
      `--claims-kubeconfig=${hosted.kubeconfig(CLAIMANT)}`,
    );
    await Promise.all([this.leader("controller"), this.leader("approver")]);
  }

  /** Two machine controllers, each on a host with a disk of its own, with the rights that --help names. */
  async startMachineControllers(): Promise<LabProcess> {
    const { hosted, management } = this;
    await management.admin.apply(...rights("Role", MAKER, machineControllerRules));
    await hosted.admin.apply(
      ...rights("Role", MAKER, machineControllerRules),
      ...rights("ClusterRole", MAKER, machineControllerClusterRules),
    );
    for (const replica of ["a", "b"]) {
      const name = `machines-${replica}`;
      const command = [
        ...([ours("drawbridge"), "workers", "controller", `--kubeconfig=${management.kubeconfig(MAKER)}`] as const),
        ...[`--hosted-kubeconfig=${hosted.kubeconfig(MAKER)}`, `--state=${this.scope.file(name)}`, "--interval=1s"],
        ...[`--node-cidr=${MACHINES_NETWORK}`, ...this.machines.providerFlags],
      ] as const;
      this.#replicas.machines.push(LabProcess.start(this.scope, { name, netns: this.#hosts.bs.name, command }));
    }
    return this.leader("machines");
  }

  /** The replica that works, once there is one. */
  leader(part: Elected): Promise<LabProcess> {
    return until(`a ${part} that leads`, SOON, () => this.#replicas[part].find((one) => one.alive && leads(one, part)));
  }

  /** By `nodepool apply`. */
  async applyPool(): Promise<void> {
    const { api, ca } = this.hosted;
    const objects = poolObjects({
      apiServer: api.url,
      apiServerCA: readFileSync(ca.cert, "utf8"),
      ignitionEndpoint: `${BOOTSTRAP}:${IGNITION_PORT}`,
    });
    await this.#apply(objects);
  }

  /** A pool for which no machines are made. */
  applyOtherPool(name: string): Promise<void> {
    return this.#apply(poolAndConfig(name, "first"));
  }

  async #apply(objects: readonly KubeObject[]): Promise<void> {
    const file = this.scope.file("pool.yaml");
    writeFileSync(file, objects.map((object) => stringify(object)).join("---\n"), { mode: 0o600 });
    await this.#must("nodepool", "apply", "-f", file, `--kubeconfig=${this.management.adminConfig}`);
  }

  /** Gives a pool another configuration. */
  async changePool(word: string, pool = POOL): Promise<void> {
    await this.management.admin.apply(poolConfig(pool, word));
  }

  /** The hash of a pool's configuration, other than `before`, once the Ignition server has made its payload. */
  servedHash(before = "", pool = POOL): Promise<string> {
    return until(`another payload of ${pool}`, SOON, async () => {
      const hash = await this.poolHash(pool);
      if (hash === before || hash === "") return undefined;
      const outcome = ["get", "secret", `token-${pool}-${hash}`, "-n", NAMESPACE, "-ojsonpath={.data.reason}"];
      return (await this.management.admin.run(outcome)) === encoded("AsExpected") ? hash : undefined;
    });
  }

  async poolHash(pool = POOL): Promise<string> {
    const { metadata } = await this.management.admin.json<NodePool>(["get", "nodepool", pool, "-n", NAMESPACE]);
    return metadata?.annotations?.[annotation.currentConfigVersion] ?? "";
  }

  /** `drawbridge workers list`. */
  async list(): Promise<ReadonlyMap<string, ListedWorker>> {
    const listed = await this.workers("list", "list", "--output=json");
    const { workers } = JSON.parse(listed) as { workers: ListedWorker[] };
    return new Map(workers.map((worker) => [worker.name, worker]));
  }

  worker(name: string): Promise<WorkerObject> {
    return this.hosted.admin.json<WorkerObject>(["get", "worker", name, "-n", NAMESPACE]);
  }

  /** Nodes by name, with the status of their condition Ready. */
  async nodes(): Promise<Record<string, string>> {
    const { items } = await this.hosted.admin.json<{ items: NodeObject[] }>(["get", "nodes"]);
    return Object.fromEntries(items.map(({ metadata, status }) => [metadata.name, readiness(status)]));
  }

  /** Waits until just these are nodes, and all of them are Ready; the time that it took, in milliseconds. */
  async allReady(...names: readonly string[]): Promise<number> {
    const began = performance.now();
    const wanted = Object.fromEntries([...names].sort().map((name) => [name, "True"]));
    await until(`${names.join(", ")} Ready`, SOON, async () => {
      const found = await this.nodes();
      if (JSON.stringify(found) === JSON.stringify(wanted)) return true;
      throw new Error(JSON.stringify(found));
    });
    return performance.now() - began;
  }

  /** Of both approvers. */
  get decisions(): DecisionEntry[] {
    return this.#decisionLogs.flatMap(decisionsIn);
  }

  /** The first such one. */
  decision(what: string, fits: (decision: DecisionEntry) => boolean): Promise<DecisionEntry> {
    return until(`a decision: ${what}`, SOON, () => this.decisions.find(fits));
  }

  /** From the network of the hosted cluster's API server. */
  fromHosted(command: readonly string[]): Promise<Outcome> {
    return run(command, { netns: this.#hosts.infra.name });
  }

  /** A kubelet that was given a name and the credential that is in every payload; it waits for its certificate before all else. */
  async startImpostor(name: string, stolenFrom: string): Promise<LabProcess> {
    const folder = this.scope.file(`impostor-${name}`);
    await must(["mkdir", folder]);
    const credential = `${this.machines.bootOf(stolenFrom).root}/etc/kubernetes/bootstrap-kubeconfig`;
    return LabProcess.start(this.scope, {
      name: `impostor-${name}`,
      netns: this.#hosts.nodes.at(-1)!.namespace.name,
      command: [
        ...([component("kubelet"), `--bootstrap-kubeconfig=${credential}`] as const),
        ...[`--kubeconfig=${folder}/kubeconfig`, `--cert-dir=${folder}/pki`, `--root-dir=${folder}/kubelet`],
        ...[`--hostname-override=${name}`, "--fail-swap-on=false"],
      ],
    });
  }

  #part(name: string, plane: ControlPlane, account: string, ...command: readonly string[]): LabProcess {
    const kubeconfig = plane.kubeconfig(`system:serviceaccount:${NAMESPACE}:${account}`);
    return LabProcess.start(this.scope, {
      name,
      netns: this.#hosts.bs.name,
      command: [ours("drawbridge"), ...command, `--kubeconfig=${kubeconfig}`, `--namespace=${NAMESPACE}`],
    });
  }

  /** The kubelet is where this machine has it, and there is no systemd to look after its control groups. */
  #recipe(): string {
    const kubelet = {
      ...{ binary: component("kubelet"), cgroupDriver: "cgroupfs", clusterDns: ["10.96.0.10"] },
      config: { nodeLeaseDurationSeconds: SILENT_AFTER_SECONDS },
    };
    const file = this.scope.file("payload.yaml");
    writeFileSync(file, stringify({ profile: "kubelet", kubelet }));
    return file;
  }
}

/** By its own last word on it. */
function leads(replica: LabProcess, part: Elected): boolean {
  const log = replica.log();
  return log.lastIndexOf(LEADS[part]) > log.lastIndexOf(LEADS[part].replace("this", "another"));
}

interface NodeObject {
  readonly metadata: { readonly name: string };
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

const readiness = (status: NodeObject["status"]): string =>
  status?.conditions?.find(({ type }) => type === "Ready")?.status ?? "";

/** Whom the Ignition server is in the hosted cluster, where it writes down who fetched. */
const CLAIMANT = "ignition-server";
/** Whom the pools' controller is there, where it may make tokens for machines that join. */
const TOKEN_MAKER = "pool-controller";
/** Whom the machine controllers are, in both clusters. */
const MAKER = "machine-controller";

const rbac = "rbac.authorization.k8s.io";

/** By hand, as docs/nodes.md has it. */
const tokenBinding = {
  apiVersion: `${rbac}/v1`,
  kind: "RoleBinding",
  metadata: { name: TOKEN_MAKER, namespace: BOOTSTRAPPER.namespace },
  roleRef: { apiGroup: rbac, kind: "Role", name: BOOTSTRAP_TOKEN_ROLE_NAME },
  subjects: [{ apiGroup: rbac, kind: "User", name: TOKEN_MAKER }],
} as KubeObject;

/** For a user, in the namespace or in the whole cluster. */
function rights(kind: "Role" | "ClusterRole", user: string, rules: readonly PolicyRule[]): KubeObject[] {
  const metadata = { name: user, ...(kind === "Role" ? { namespace: NAMESPACE } : {}) };
  const roleRef = { apiGroup: rbac, kind, name: user };
  const subjects = [{ apiGroup: rbac, kind: "User", name: user }];
  return [
    { apiVersion: `${rbac}/v1`, kind, metadata, rules } as KubeObject,
    { apiVersion: `${rbac}/v1`, kind: `${kind}Binding`, metadata, roleRef, subjects } as KubeObject,
  ];
}
