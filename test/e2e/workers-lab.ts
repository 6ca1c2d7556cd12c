/** A cluster with pools, an Ignition server, signer, scheduler and everything that draining needs; all of it real but the machines. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { stringify } from "yaml";
import { IGNITION_SERVER_NAME } from "../../src/cluster/nodes/install/render.js";
import { encoded } from "../../src/cluster/nodes/objects.js";
import { bootstrapKubeconfig } from "../../src/cluster/nodes/payload/testing/inputs.js";
import { CONTROLLER_NAME } from "../../src/cluster/nodes/permissions.js";
import { Authority } from "../support/lab/certificates.js";
import { component } from "../support/lab/equipment.js";
import { startOnLoopback } from "../support/lab/loopback.js";
import { LabProcess } from "../support/lab/process.js";
import { must } from "../support/lab/run.js";
import type { Scope } from "../support/lab/scope.js";
import { ours } from "../support/processes/executables.js";
import { freePort } from "../support/processes/ports.js";
import { accessObjects, Lab } from "./csr-lab.js";
import { NAMESPACE } from "./csr-roles.js";
import { Hypervisor } from "./workers-machines.js";

export const DRAWBRIDGE = ours("drawbridge");
export { NAMESPACE };

const CONTROLLERS = [
  "certificatesigningrequest-signing-controller",
  "node-lifecycle-controller",
  "disruption-controller",
  "replicaset-controller",
];

export const taint = { key: "dedicated", value: "front", effect: "NoSchedule" };

export interface Fixture {
  readonly lab: Lab;
  readonly hypervisor: Hypervisor;
  /** Where machines are. */
  readonly machines: string;
  /** A pool with labels and taints, and what it stands on. */
  readonly poolFile: string;
}

export async function startFixture(scope: Scope): Promise<Fixture> {
  const plane = await startOnLoopback(scope);
  const lab = new Lab(scope, plane);
  start(scope, "kube-controller-manager", [
    `--kubeconfig=${plane.adminConfig}`,
    `--controllers=${CONTROLLERS.join(",")}`,
    `--cluster-signing-cert-file=${plane.ca.cert}`,
    `--cluster-signing-key-file=${plane.ca.key}`,
    // Nobody renews leases of nodes here; what counts is what machines say.
    ...["--node-monitor-grace-period=10m", "--leader-elect=false", "--secure-port=0"],
  ]);
  start(scope, "kube-scheduler", [
    `--kubeconfig=${plane.kubeconfig("system:kube-scheduler")}`,
    ...["--leader-elect=false", "--secure-port=0"],
  ]);
  await plane.admin.apply(...accessObjects);
  const admin = `--kubeconfig=${plane.adminConfig}`;
  await must([DRAWBRIDGE, "nodepool", "install", "--image=none", "--components=controller,ignition", admin]);
  // With the rights of what was installed, and no others.
  const as = (name: string) => `--kubeconfig=${plane.kubeconfig(`system:serviceaccount:${NAMESPACE}:${name}`)}`;
  const flags = [`--namespace=${NAMESPACE}`, "--issue-bootstrap-kubeconfig"];
  drawbridge(scope, "controller", ["nodepool", "controller", as(CONTROLLER_NAME), ...flags]);
  const { endpoint, ca } = await serveIgnition(scope, as(IGNITION_SERVER_NAME));
  const poolFile = scope.file("pool.yaml");
  writeFileSync(poolFile, poolText(endpoint, ca, plane.api.url));
  const machines = scope.file("machines");
  mkdirSync(machines);
  const hypervisor = new Hypervisor(lab, machines, await lab.asBootstrapper());
  const running = hypervisor.run();
  scope.defer(async () => {
    hypervisor.switchOff();
    await running;
  });
  return { lab, hypervisor, machines, poolFile };
}

async function serveIgnition(scope: Scope, access: string): Promise<{ endpoint: string; ca: string }> {
  const authority = new Authority(scope.folder, "ignition-root-ca");
  const pair = authority.issue({ file: "ignition", name: "ignition-server", use: "server", ips: ["127.0.0.1"] });
  const [port, metricsPort] = [await freePort(), await freePort()];
  const payload = scope.file("payload.yaml");
  writeFileSync(payload, "profile: kubelet\nkubelet: {clusterDns: [10.96.0.10]}\n");
  drawbridge(scope, "ignition-server", [
    ...["ignition", "serve", access, `--namespace=${NAMESPACE}`, `--payload=${payload}`],
    ...[`--addr=127.0.0.1:${port}`, `--metrics-addr=127.0.0.1:${metricsPort}`],
    ...[`--cert-file=${pair.cert}`, `--key-file=${pair.key}`, `--claims-configmap=${NAMESPACE}/drawbridge-claims`],
  ]);
  return { endpoint: `127.0.0.1:${port}`, ca: readFileSync(authority.cert, "utf8") };
}

function poolText(ignitionEndpoint: string, ignitionCA: string, apiServer: string): string {
  const metadata = (name: string, labels = {}) => ({ name, namespace: NAMESPACE, labels });
  const objects = [
    {
      ...{ apiVersion: "v1", kind: "ConfigMap", metadata: metadata("demo", { "drawbridge/cluster": "true" }) },
      data: { apiServer, apiServerCA: ignitionCA, ignitionEndpoint, ignitionCA, version: "4.18.0" },
    },
    {
      ...{ apiVersion: "v1", kind: "Secret", metadata: metadata("bootstrap-kubeconfig") },
      data: { kubeconfig: encoded(bootstrapKubeconfig) },
    },
    {
      ...{ apiVersion: "hypershift.openshift.io/v1beta1", kind: "NodePool", metadata: metadata("workers") },
      spec: {
        ...{ clusterName: "demo", release: { image: "registry.example/release:4.18.0" }, platform: { type: "None" } },
        ...{ management: { upgradeType: "InPlace" }, nodeLabels: { tier: "front" }, taints: [taint] },
      },
    },
  ];
  return objects.map((object) => stringify(object)).join("---\n");
}

const start = (scope: Scope, name: string, flags: readonly string[]) =>
  LabProcess.start(scope, { name, command: [component(name), ...flags] });

const drawbridge = (scope: Scope, name: string, args: readonly string[]) =>
  LabProcess.start(scope, { name, command: [DRAWBRIDGE, ...args] });

const selector = { app: "web" };

/** One pod that may not be missing, and the ReplicaSet that would start another elsewhere. */
export const web = (replicas: number): object[] => [
  {
    ...{ apiVersion: "apps/v1", kind: "ReplicaSet", metadata: { name: "web", namespace: "default" } },
    spec: {
      ...{ replicas, selector: { matchLabels: selector } },
      template: {
        metadata: { labels: selector },
        spec: {
          tolerations: [{ key: taint.key, operator: "Exists" }],
          containers: [{ name: "main", image: "none" }],
        },
      },
    },
  },
  {
    ...{ apiVersion: "policy/v1", kind: "PodDisruptionBudget", metadata: { name: "web", namespace: "default" } },
    spec: { minAvailable: 1, selector: { matchLabels: selector } },
  },
];

/** A pod that is on a node whatever the scheduler thinks. */
export const podOn = (node: string, name: string, owner?: string): object => ({
  ...{ apiVersion: "v1", kind: "Pod" },
  metadata: {
    ...{ name, namespace: "default" },
    ...(owner === undefined
      ? {}
      : { ownerReferences: [{ apiVersion: "apps/v1", kind: owner, name: "some", uid: "some", controller: true }] }),
  },
  spec: { nodeName: node, tolerations: [{ operator: "Exists" }], containers: [{ name: "main", image: "none" }] },
});
