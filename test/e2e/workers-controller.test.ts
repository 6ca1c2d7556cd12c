/**
 * The machine controller with a real kube-apiserver, signer, pools and Ignition server: kubectl scales a pool up and down, a new
 * configuration rolls, a broken node is repaired, the leader is killed, the provider's commands fail.
 */
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { namedPath } from "../../src/cluster/kube/paths.js";
import { isReady } from "../../src/cluster/kube/pods.js";
import type { KubeObject } from "../../src/cluster/kube/port.js";
import { annotation, type Node } from "../../src/cluster/nodes/objects.js";
import { machineControllerClusterRules, machineControllerRules } from "../../src/cluster/nodes/permissions.js";
import { MACHINES_ANNOTATION, type NodePool } from "../../src/cluster/nodes/pool/node-pool.js";
import { equipped } from "../support/lab/equipment.js";
import { LabProcess } from "../support/lab/process.js";
import { Scope } from "../support/lab/scope.js";
import { until } from "../support/lab/wait.js";
import { DRAWBRIDGE, type Fixture, NAMESPACE, startFixture } from "./workers-lab.js";

const LATER = 120_000;
const USER = "lab-machines";
const name = { namespace: NAMESPACE, name: "workers" };

const ready = await equipped({ controlPlane: true, controllers: true, scheduler: true });

const rbac = "rbac.authorization.k8s.io";
const bound = (kind: "Role" | "ClusterRole", rules: readonly object[]): object[] => {
  const metadata = { name: USER, ...(kind === "Role" ? { namespace: NAMESPACE } : {}) };
  const to = {
    roleRef: { apiGroup: rbac, kind, name: USER },
    subjects: [{ apiGroup: rbac, kind: "User", name: USER }],
  };
  return [
    { apiVersion: `${rbac}/v1`, kind, metadata, rules },
    { apiVersion: `${rbac}/v1`, kind: `${kind}Binding`, metadata, ...to },
  ];
};

describe.skipIf(!ready)("the machines of a pool", () => {
  let scope: Scope;
  let fixture: Fixture;
  let leader: LabProcess;
  let other: LabProcess;

  const log = () => readFileSync(scope.file("machines.log"), "utf8").trim().split("\n").filter(Boolean);
  const kubectl = (...args: string[]) => fixture.lab.plane.admin.run([...args, "-n", NAMESPACE]);
  const pool = () => fixture.lab.admin.get<NodePool>(namedPath("NodePool", name));
  const nodes = async () => (await fixture.lab.admin.list<Node>("/api/v1/nodes")).items;
  const readyNames = async () =>
    (await nodes())
      .filter((node) => isReady(node))
      .map(({ metadata }) => metadata?.name ?? "")
      .sort();
  const condition = async (type: string) => (await pool()).status?.conditions?.find((each) => each.type === type);

  /** Until the pool itself says so. */
  const settled = (count: number) =>
    until(`${count} workers are Ready`, LATER, async () => {
      const { status } = await pool();
      const isDone = status?.conditions?.some((each) => each.type === "Ready" && each.status === "True");
      return status?.replicas === count && isDone === true;
    });

  /** Each machine is a file; told twice, it makes one. Fails, or waits, while somebody wants it to. */
  function script(verb: "make" | "remove", step: string): string {
    const path = scope.file(`${verb}.sh`);
    const hold = `i=0; while [ -e ${scope.file("hold")} ] && [ $i -lt 1000 ]; do sleep 0.05; i=$((i+1)); done`;
    const fail = `[ ! -e ${scope.file(`fail-${verb}`)} ] || { echo no quota >&2; exit 3; }`;
    writeFileSync(path, [fail, `echo ${verb} $1 >> ${scope.file("machines.log")}`, step, hold, ""].join("\n"));
    return path;
  }

  function start(host: string): LabProcess {
    const { machines } = fixture;
    const make = script(
      "make",
      `[ -e ${machines}/$1 ] || { cp $2 ${machines}/.$1 && mv ${machines}/.$1 ${machines}/$1; }`,
    );
    const remove = script("remove", `rm -f ${machines}/$1`);
    return LabProcess.start(scope, {
      name: host,
      command: [
        DRAWBRIDGE,
        ...["workers", "controller", `--kubeconfig=${fixture.lab.plane.kubeconfig(USER)}`],
        ...[`--namespace=${NAMESPACE}`, `--state=${scope.file(`state-${host}`)}`, "--interval=500ms", "--force"],
        ...["--provider=command", `--create-command=sh ${make} {name} {userdata}`],
        `--delete-command=sh ${remove} {name}`,
      ],
    });
  }

  beforeAll(async () => {
    scope = new Scope("workers-controller");
    fixture = await startFixture(scope);
    writeFileSync(scope.file("machines.log"), "");
    const { plane } = fixture.lab;
    const admission = ["csr", "approver", `--kubeconfig=${plane.adminConfig}`, `--namespace=${NAMESPACE}`];
    LabProcess.start(scope, { name: "approver", command: [DRAWBRIDGE, ...admission, "--interval=500ms"] });
    await plane.admin.apply(
      ...bound("Role", machineControllerRules),
      ...bound("ClusterRole", machineControllerClusterRules),
    );
    const objects = parseAllDocuments(readFileSync(fixture.poolFile, "utf8")).map((one) => one.toJS() as KubeObject);
    const management = { upgradeType: "Replace", autoRepair: true };
    const changed = objects.map((object) =>
      object.kind === "NodePool"
        ? {
            ...object,
            metadata: { ...object.metadata, annotations: { [MACHINES_ANNOTATION]: "command" } },
            spec: { ...(object as NodePool).spec, replicas: 2, management },
          }
        : object,
    );
    await plane.admin.apply(...changed);
    leader = start("first");
    await leader.ready("it leads", LATER, () => leader.log().includes("this replica keeps the machines"));
    other = start("second");
  });
  afterAll(() => scope?.close());

  test("are as many as kubectl scale says, and kubectl get shows it", async () => {
    await settled(2);
    expect(await readyNames()).toEqual(["workers-0", "workers-1"]);
    await kubectl("scale", "nodepool", "workers", "--replicas=3");
    await settled(3);
    expect(await readyNames()).toEqual(["workers-0", "workers-1", "workers-2"]);
    const [heads = "", row = ""] = (await kubectl("get", "nodepool", "workers")).trim().split("\n");
    expect(heads).toMatch(/^NAME +CLUSTER +DESIRED NODES +CURRENT NODES +AUTOSCALING +AUTOREPAIR +VERSION +/);
    expect(row).toMatch(/^workers +demo +3 +3 +False +True +4\.18\.0 +False +False +True/);
    await kubectl("scale", "nodepool", "workers", "--replicas=2");
    await settled(2);
    expect([await readyNames(), log().at(-1)]).toEqual([["workers-0", "workers-1"], "remove workers-2"]);
  });

  test("are replaced after a change, and never are fewer than two Ready", async () => {
    const before = log().length;
    const config = "kind: MachineConfig\nmetadata: {name: more}\nspec: {config: {ignition: {version: 3.2.0}}}\n";
    await fixture.lab.plane.admin.apply({
      ...{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "more", namespace: NAMESPACE } },
      data: { config: `apiVersion: machineconfiguration.openshift.io/v1\n${config}` },
    });
    const old = (await pool()).metadata?.annotations?.[annotation.currentConfigVersion];
    await kubectl("patch", "nodepool", "workers", "--type=merge", '-p={"spec":{"config":[{"name":"more"}]}}');
    let fewest = 2;
    await until("both are new", LATER, async () => {
      const names = await readyNames();
      fewest = Math.min(fewest, names.length);
      return names.join() === "workers-3,workers-4";
    });
    await settled(2);
    expect(fewest).toBe(2);
    expect(
      log()
        .slice(before)
        .map((line) => line.split(" ")[0]),
    ).toEqual(["make", "remove", "make", "remove"]);
    for (const { metadata } of await nodes()) {
      expect(metadata?.annotations?.[annotation.currentConfigVersion]).not.toBe(old);
    }
    expect(await condition("UpdatingConfig")).toMatchObject({ status: "False", reason: "AsExpected" });
  });

  test("are repaired when a node is not Ready for too long", async () => {
    await kubectl("annotate", "nodepool", "workers", `${annotation.healthTimeout}=5s`);
    fixture.hypervisor.broken.add("workers-3");
    await until("another is in its place", LATER, async () => (await readyNames()).join() === "workers-4,workers-5");
    await settled(2);
    expect(log().slice(-2)).toEqual(["remove workers-3", "make workers-5"]);
    await kubectl("annotate", "nodepool", "workers", `${annotation.healthTimeout}-`);
  });

  test("are made once although the leader is killed in the middle", async () => {
    writeFileSync(scope.file("hold"), "");
    await kubectl("scale", "nodepool", "workers", "--replicas=4");
    await until("the first of two is being made", LATER, () => log().at(-1) === "make workers-6");
    await leader.kill();
    rmSync(scope.file("hold"));
    await other.ready("the other leads", LATER, () => other.log().includes("this replica keeps the machines"));
    await settled(4);
    expect(await readyNames()).toEqual(["workers-4", "workers-5", "workers-6", "workers-7"]);
    expect(log().slice(-3)).toEqual(["make workers-6", "make workers-6", "make workers-7"]);
  });

  test("stay while the provider fails, until the cause is gone or somebody says so", async () => {
    writeFileSync(scope.file("fail-make"), "");
    await kubectl("scale", "nodepool", "workers", "--replicas=5");
    await until("it says so", LATER, async () => (await condition("Ready"))?.reason === "CreationFailed");
    expect((await condition("AllMachinesReady"))?.message).toContain("sh failed for workers-8: no quota");
    rmSync(scope.file("fail-make"));
    await settled(5);

    writeFileSync(scope.file("fail-remove"), "");
    await kubectl("scale", "nodepool", "workers", "--replicas=4");
    await until(
      "it says so",
      LATER,
      async () => (await condition("MachineRemovalAllowed"))?.reason === "RemovalFailed",
    );
    rmSync(scope.file("fail-remove"));
    const before = log().length;
    await kubectl("scale", "nodepool", "workers", "--replicas=3");
    await until("it has looked", LATER, async () => {
      const { metadata, status } = await pool();
      return status?.conditions?.some((one) => one.type === "Ready" && one.observedGeneration === metadata?.generation);
    });
    expect([log().length, (await nodes()).length]).toEqual([before, 5]);
    const [, word = ""] =
      / (kubectl annotate .*)$/.exec((await condition("MachineRemovalAllowed"))?.message ?? "") ?? [];
    await fixture.lab.plane.admin.run(word.split(" ").slice(1));
    await settled(3);
    expect([log().length, await readyNames()]).toEqual([before + 2, ["workers-4", "workers-5", "workers-6"]]);
  });
});
