/** A cluster without nodes and without HyperShift, in a network of its own, and drawbridge's three parts beside it as processes. */
import { readFileSync, writeFileSync } from "node:fs";
import { stringify } from "yaml";
import type { DecisionEntry } from "../../src/cluster/nodes/csr/decide.js";
import { IGNITION_SERVER_NAME } from "../../src/cluster/nodes/install/render.js";
import { APPROVER_NAME, CONTROLLER_NAME } from "../../src/cluster/nodes/permissions.js";
import { Authority } from "../support/lab/certificates.js";
import { type ControlPlane, makeControlPlane } from "../support/lab/control-plane.js";
import { startControllerManager } from "../support/lab/controller-manager.js";
import { component, controlPlaneExecutables } from "../support/lab/equipment.js";
import { BOOTSTRAP, Hosts } from "../support/lab/hosts.js";
import { LabProcess } from "../support/lab/process.js";
import { type Outcome, run } from "../support/lab/run.js";
import { Scope } from "../support/lab/scope.js";
import { until } from "../support/lab/wait.js";
import { ours } from "../support/processes/executables.js";
import { decisionsIn } from "./csr-lab.js";
import { NAMESPACE, poolObjects } from "./nodes-objects.js";

const SOON = 60_000;
const IGNITION_PORT = 22_624;

/** The policy by which machines are let in, for the approver and for whoever asks what it thinks. */
const POLICY = [
  "--require-claim",
  "--node-cidr=192.168.66.0/24",
  ...["10.96.0.0/16", "10.128.0.0/14", `${BOOTSTRAP}/32`].map((network) => `--foreign-cidr=${network}`),
];

export class NodesLab {
  readonly scope: Scope;
  readonly hosts: Hosts;
  readonly plane: ControlPlane;
  readonly decisionLog: string;

  private constructor(scope: Scope, hosts: Hosts, plane: ControlPlane) {
    this.scope = scope;
    this.hosts = hosts;
    this.plane = plane;
    this.decisionLog = scope.file("decisions.jsonl");
    writeFileSync(this.decisionLog, "", { mode: 0o600 });
  }

  /** Control plane and hosts for two machines. */
  static async start(): Promise<NodesLab> {
    const scope = new Scope("nodes");
    try {
      const hosts = await Hosts.make(scope);
      for (let count = 0; count < 2; count++) await hosts.addNode();
      const plane = await makeControlPlane(scope, {
        ...{ executables: controlPlaneExecutables(), netns: hosts.bs.name, host: BOOTSTRAP },
        admitServiceAccounts: true,
      });
      await plane.apiServer.start();
      await startControllerManager(scope, plane, { executable: component("kube-controller-manager"), signs: true });
      return new NodesLab(scope, hosts, plane);
    } catch (error) {
      await scope.close();
      throw error;
    }
  }

  /** On the control plane's host, to its end. */
  drawbridge(...args: readonly string[]): Promise<Outcome> {
    return run([ours("drawbridge"), ...args], { netns: this.hosts.bs.name });
  }

  /** The same as administrator. */
  asAdmin(...args: readonly string[]): Promise<Outcome> {
    return this.drawbridge(...args, `--kubeconfig=${this.plane.adminConfig}`);
  }

  /** What the approver would say, and the same policy. */
  csr(...args: readonly string[]): Promise<Outcome> {
    return this.asAdmin("csr", ...args, ...POLICY);
  }

  /** Controller, approver and Ignition server, each with the rights that `nodepool install` gave its account. */
  async startParts(): Promise<void> {
    const controller = this.#part(
      "controller",
      CONTROLLER_NAME,
      "nodepool",
      "controller",
      "--issue-bootstrap-kubeconfig",
    );
    const approver = this.#part(
      ...(["approver", APPROVER_NAME, "csr", "approver"] as const),
      ...[...POLICY, `--decision-log=${this.decisionLog}`, "--interval=1s"],
    );
    const ignition = this.#part(
      ...(["ignition-server", IGNITION_SERVER_NAME, "ignition", "serve"] as const),
      ...[`--addr=${BOOTSTRAP}:${IGNITION_PORT}`, "--metrics-addr=127.0.0.1:0", `--payload=${this.#recipe()}`],
      ...this.#servingCertificate(),
      `--claims-configmap=${NAMESPACE}/drawbridge-claims`,
    );
    await Promise.all([
      controller.ready("it leads", SOON, () => controller.log().includes("this replica looks after")),
      approver.ready("it decides", SOON, () => approver.log().includes("this replica decides")),
      ignition.ready("it is up", SOON, () => ignition.log().includes("ignition server is up")),
    ]);
  }

  /** By `nodepool apply`. */
  async applyPool(): Promise<Outcome> {
    const { api, ca } = this.plane;
    const objects = poolObjects({
      apiServer: api.url,
      apiServerCA: readFileSync(ca.cert, "utf8"),
      ignitionEndpoint: `${BOOTSTRAP}:${IGNITION_PORT}`,
      ignitionCA: readFileSync(this.scope.file("ignition-root-ca.crt"), "utf8"),
    });
    const file = this.scope.file("pool.yaml");
    writeFileSync(file, objects.map((object) => stringify(object)).join("---\n"), { mode: 0o600 });
    return this.asAdmin("nodepool", "apply", "-f", file);
  }

  /** The first such one in the log. */
  decision(what: string, fits: (decision: DecisionEntry) => boolean): Promise<DecisionEntry> {
    return until(`a decision: ${what}`, SOON, () => decisionsIn(this.decisionLog).find(fits));
  }

  stop(): Promise<void> {
    return this.scope.close();
  }

  #part(name: string, account: string, ...command: readonly string[]): LabProcess {
    const kubeconfig = this.plane.kubeconfig(`system:serviceaccount:${NAMESPACE}:${account}`);
    return LabProcess.start(this.scope, {
      name,
      netns: this.hosts.bs.name,
      command: [ours("drawbridge"), ...command, `--kubeconfig=${kubeconfig}`, `--namespace=${NAMESPACE}`],
    });
  }

  /** The kubelet is where this machine has it, and there is no systemd to look after its control groups. */
  #recipe(): string {
    const kubelet = { binary: component("kubelet"), cgroupDriver: "cgroupfs", clusterDns: ["10.96.0.10"] };
    const file = this.scope.file("payload.yaml");
    writeFileSync(file, stringify({ profile: "kubelet", kubelet }));
    return file;
  }

  #servingCertificate(): string[] {
    const ca = new Authority(this.scope.folder, "ignition-root-ca");
    const { cert, key } = ca.issue({ file: "ignition", name: "ignition-server", use: "server", ips: [BOOTSTRAP] });
    return [`--cert-file=${cert}`, `--key-file=${key}`];
  }
}
