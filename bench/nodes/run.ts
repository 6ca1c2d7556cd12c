/** Many workers of one pool: real API server, etcd and signer, drawbridge's own processes, and machines that are played. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { stringify } from "yaml";
import { collectionPath } from "../../src/cluster/kube/paths.js";
import { outcomeOf, REQUESTS_PATH, type SigningRequest } from "../../src/cluster/nodes/csr/signing-request.js";
import { IGNITION_SERVER_NAME } from "../../src/cluster/nodes/install/render.js";
import { APPROVER_NAME, CONTROLLER_NAME } from "../../src/cluster/nodes/permissions.js";
import type { WorkerObject } from "../../src/cluster/nodes/workers/resource.js";
import { decisionsIn, Lab } from "../../test/e2e/csr-lab.js";
import { NAMESPACE, POOL, poolObjects } from "../../test/e2e/nodes-objects.js";
import { PoolCluster } from "../../test/e2e/pool-cluster.js";
import { LabProcess } from "../../test/support/lab/process.js";
import { Scope } from "../../test/support/lab/scope.js";
import { until } from "../../test/support/lab/wait.js";
import { ours } from "../../test/support/processes/executables.js";
import { freePort } from "../../test/support/processes/ports.js";
import { cpuSeconds, peakMiB, residentMiB } from "../load/procfs.js";
import type { Played, Setting, TASKS } from "./machines.js";
import type { ManyNodes, Part, Phase } from "./report.js";

const SOON = 60_000;
const LONG = 540_000;
/** More approvals in a minute than there will be; by default a pool gets 100. */
const POLICY = ["--pool-rate=100000", "--node-cidr=10.64.0.0/16"];

/** By default it signs 20 requests in a second. */
const FAST_SIGNER = ["--kube-api-qps=500", "--kube-api-burst=1000"];

export async function playManyNodes(count: number, say: (line: string) => void): Promise<ManyNodes> {
  const scope = new Scope("many-nodes");
  try {
    const cluster = await PoolCluster.start(scope, FAST_SIGNER);
    return await new Play(scope, cluster, count, say).play();
  } finally {
    await scope.close();
  }
}

class Play {
  readonly #scope: Scope;
  readonly #cluster: PoolCluster;
  readonly #lab: Lab;
  readonly #count: number;
  readonly #say: (line: string) => void;
  readonly #phases: Phase[] = [];
  readonly #errors: string[] = [];

  constructor(scope: Scope, cluster: PoolCluster, count: number, say: (line: string) => void) {
    this.#scope = scope;
    this.#cluster = cluster;
    this.#lab = new Lab(scope, cluster.plane);
    this.#count = count;
    this.#say = say;
  }

  async play(): Promise<ManyNodes> {
    const port = await freePort();
    await this.#applyPool(port);
    const controller = this.#part("controller", CONTROLLER_NAME, "nodepool", "controller", "--issue-certificate");
    const ignition = this.#part(
      ...(["ignition-server", IGNITION_SERVER_NAME, "ignition", "serve", `--payload=${this.#recipe()}`] as const),
      ...[`--addr=127.0.0.1:${port}`, "--metrics-addr=127.0.0.1:0", "--cert-secret=drawbridge-ignition-serving-cert"],
      `--claims-configmap=${NAMESPACE}/drawbridge-claims`,
    );
    const approver = this.#startApprover("approver");
    await ignition.ready("it is up", SOON, () => ignition.log().includes("ignition server is up"));
    await until("a pool with user data", SOON, async () => (await this.#userData()) !== undefined);

    await this.#command("workers create", "--pool", POOL, "--count", String(this.#count), "--node-cidr=10.64.0.0/16");
    const machines = await this.#switchOn();
    await this.#task(machines, "prepare");
    this.#phases.push({ what: "all machines fetch", ...(await this.#task(machines, "fetch")) });
    this.#phases.push({ what: "all have both certificates and a Node", ...(await this.#task(machines, "join")) });
    const began = performance.now();
    await until("the approver knows that all are Ready", LONG, async () => this.#areReady(await this.#workers()));
    this.#phases.push({ what: "until the approver has noted all as Ready", seconds: secondsSince(began) });
    await this.#checkTokens(machines);
    await this.#checkForgeries();
    const parts = [controller, ignition, approver].map(partOf);
    await this.#restart(approver);
    for (const command of ["workers list", "workers verify", "workers doctor", "csr list"]) {
      await this.#command(
        command,
        ...(command === "workers verify" ? ["--pool", POOL, "--timeout=1s", "--pods=none"] : []),
      );
    }
    await Promise.all([controller.stop(), ignition.stop()]);
    return { count: this.#count, phases: this.#phases, parts, ...(await this.#sizes()), errors: this.#errors };
  }

  async #applyPool(port: number): Promise<void> {
    const { ca, plane, token } = this.#cluster;
    const facts = { apiServer: plane.api.url, apiServerCA: ca, ignitionEndpoint: `127.0.0.1:${port}`, token };
    await plane.admin.apply(...poolObjects(facts));
  }

  #recipe(): string {
    const file = this.#scope.file("payload.yaml");
    writeFileSync(file, stringify({ profile: "kubelet", kubelet: { clusterDns: ["10.96.0.10"] } }));
    return file;
  }

  #startApprover(name: string): LabProcess {
    return this.#part(name, APPROVER_NAME, "csr", "approver", ...POLICY, `--decision-log=${this.#decisionLog}`);
  }

  get #decisionLog(): string {
    return this.#scope.file("decisions.jsonl");
  }

  #part(name: string, account: string, ...command: readonly string[]): LabProcess {
    const flags = this.#cluster.flags(account);
    return LabProcess.start(this.#scope, { name, command: [ours("drawbridge"), ...command, ...flags] });
  }

  async #userData(): Promise<unknown> {
    const { items } = await this.#lab.admin.list(collectionPath("Secret", NAMESPACE));
    return items.find(({ metadata }) => metadata?.name?.startsWith(`user-data-${POOL}-`));
  }

  /** To its end, with its time and its memory at the peak. */
  async #command(words: string, ...args: readonly string[]): Promise<void> {
    const isAboutWorkers = words.startsWith("workers");
    const state = isAboutWorkers ? [`--state=${this.#scope.file("state")}`] : [];
    const began = performance.now();
    const command = LabProcess.start(this.#scope, {
      name: words.replaceAll(" ", "-"),
      command: [ours("drawbridge"), ...words.split(" "), ...args, ...state, ...this.#cluster.flags()],
    });
    let peak = 0;
    while (command.alive) {
      peak = Math.max(peak, peakOf(command.pid));
      await sleep(50);
    }
    const phase = { what: `drawbridge ${words}`, seconds: secondsSince(began), peakMiB: peak };
    this.#tell(phase);
    this.#phases.push(phase);
    const { code } = await command.ended();
    // What it must complain of is there: requests that are forged.
    const complaints = command.log().match(/^FAILED .*$/gm) ?? [];
    const isRight = words === "workers doctor" ? complaints.every((line) => line.includes(" forged-")) : code === 0;
    if (!isRight) this.#errors.push(`drawbridge ${words} ended with ${code}: ${command.log().slice(-400)}`);
  }

  async #switchOn(): Promise<ChildProcess> {
    const bootstrapConfig = this.#scope.file("bootstrap.kubeconfig");
    const { ca, plane, token } = this.#cluster;
    const tokenFile = this.#scope.file("bootstrap.token");
    writeFileSync(tokenFile, token, { mode: 0o600 });
    const cluster = { server: plane.api.url, "certificate-authority": plane.ca.cert };
    const kubeconfig = {
      ...{ apiVersion: "v1", kind: "Config", "current-context": "machine" },
      ...{ clusters: [{ name: "lab", cluster }], users: [{ name: "machine", user: { tokenFile } }] },
      contexts: [{ name: "machine", context: { cluster: "lab", user: "machine" } }],
    };
    writeFileSync(bootstrapConfig, JSON.stringify(kubeconfig), { mode: 0o600 });
    const child = fork(fileURLToPath(new URL("machines.ts", import.meta.url)));
    this.#scope.defer(() => void child.kill("SIGKILL"));
    const setting: Setting = {
      ...{ server: plane.api.url, ca, bootstrapConfig },
      machines: Array.from({ length: this.#count }, (_, index) => ({
        name: `${POOL}-${index}`,
        address: `10.64.${Math.floor(index / 250)}.${(index % 250) + 1}`,
        userData: this.#scope.file(`state/${POOL}-${index}.ign`),
      })),
    };
    child.send(setting);
    return child;
  }

  /** Its result, of which at most three errors are told. */
  async #task(machines: ChildProcess, task: (typeof TASKS)[number]): Promise<Played> {
    if (task !== "prepare") machines.send(task);
    const [played] = (await once(machines, "message", { signal: AbortSignal.timeout(LONG + SOON) })) as [Played];
    this.#tell({ what: task, seconds: played.seconds, requests: played.requests });
    if (played.errors.length > 0) {
      this.#errors.push(`${task}: ${played.errors.length} failed: ${played.errors.slice(0, 3).join("; ")}`);
    }
    return played;
  }

  async #workers(): Promise<readonly WorkerObject[]> {
    return (await this.#lab.admin.list<WorkerObject>(collectionPath("Worker", NAMESPACE))).items;
  }

  #areReady(workers: readonly WorkerObject[]): boolean {
    return workers.length === this.#count && workers.every(({ status }) => status?.readyAt !== undefined);
  }

  /** Once their nodes are Ready, machines' tokens open nothing. */
  async #checkTokens(machines: ChildProcess): Promise<void> {
    await sleep(1_000);
    this.#phases.push({ what: "all tokens are refused", ...(await this.#task(machines, "fetch again")) });
  }

  async #checkForgeries(): Promise<void> {
    const { items } = await this.#lab.admin.list<SigningRequest>(REQUESTS_PATH);
    const forged = items.filter(({ metadata }) => metadata?.name?.startsWith("forged-"));
    const wrong = forged.filter((request) => {
      const isDenied = outcomeOf(request) === "denied";
      const mustBe = request.metadata?.name?.startsWith("forged-masters-") ?? false;
      return request.status?.certificate !== undefined || outcomeOf(request) === "approved" || isDenied !== mustBe;
    });
    this.#say(`${forged.length} forged requests, ${wrong.length} with a wrong decision`);
    for (const { metadata } of wrong.slice(0, 3)) this.#errors.push(`wrong decision about ${metadata?.name}`);
    if (forged.length === 0) this.#errors.push("no request was forged");
  }

  /** From its start to its first decision. */
  async #restart(approver: LabProcess): Promise<void> {
    await approver.stop(SOON);
    const known = decisionsIn(this.#decisionLog).length;
    const began = performance.now();
    const again = this.#startApprover("approver-again");
    await again.ready("it decides", LONG, () => decisionsIn(this.#decisionLog).length > known);
    const phase = { what: "a restarted approver decides", seconds: secondsSince(began), peakMiB: peakMiB(again.pid) };
    this.#tell(phase);
    this.#phases.push(phase);
  }

  async #sizes(): Promise<Pick<ManyNodes, "memoryKiB" | "objects">> {
    const workers = await this.#workers();
    const bytes = workers.reduce((sum, { status }) => sum + JSON.stringify(status ?? {}).length, 0);
    const count = async (path: string) => (await this.#lab.admin.list(path)).items.length;
    const requests = await count(REQUESTS_PATH);
    return {
      memoryKiB: bytes / 1024,
      objects: { Workers: workers.length, requests, Nodes: await count("/api/v1/nodes") },
    };
  }

  #tell({ peakMiB: peak, requests, seconds, what }: Phase): void {
    const rate = requests === undefined ? "" : `, ${Math.round(requests / seconds)} requests/s`;
    this.#say(`${what}: ${seconds.toFixed(1)} s${rate}${peak === undefined ? "" : `, ${Math.round(peak)} MiB`}`);
  }
}

const secondsSince = (began: number): number => (performance.now() - began) / 1000;

function partOf({ name, pid }: LabProcess): Part {
  return { name, peakMiB: peakMiB(pid), finalMiB: residentMiB(pid), cpuSeconds: cpuSeconds(pid) };
}

/** 0 for a process that has just ended. */
function peakOf(pid: number): number {
  try {
    return peakMiB(pid);
  } catch {
    return 0;
  }
}
