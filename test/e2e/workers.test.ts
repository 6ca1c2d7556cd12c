/**
 * Workers from nothing to nodes and on, with a real kube-apiserver, signer, scheduler, pools and Ignition server: killed and
 * resumed, grown, replaced while a PodDisruptionBudget holds, and told what is missing.
 */
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { namedPath } from "../../src/cluster/kube/paths.js";
import { configMapInventory } from "../../src/cluster/nodes/csr/inventory.js";
import { annotation, type ConfigMap, label, type Node, type Secret } from "../../src/cluster/nodes/objects.js";
import { type NodePod, nodePath } from "../../src/cluster/nodes/workers/node.js";
import { WorkerStore } from "../../src/cluster/nodes/workers/store.js";
import type { VerifyResult } from "../../src/cluster/nodes/workers/verify.js";
import type { Worker } from "../../src/cluster/nodes/workers/worker.js";
import { equipped } from "../support/lab/equipment.js";
import { LabProcess } from "../support/lab/process.js";
import { run } from "../support/lab/run.js";
import { Scope } from "../support/lab/scope.js";
import { until } from "../support/lab/wait.js";
import { DRAWBRIDGE, type Fixture, NAMESPACE, podOn, startFixture, taint, web } from "./workers-lab.js";

const SOON = 60_000;

const ready = await equipped({ controlPlane: true, controllers: true, scheduler: true });

describe.skipIf(!ready)("workers", () => {
  let scope: Scope;
  let fixture: Fixture;
  let state: string;
  let access: string[];

  beforeAll(async () => {
    scope = new Scope("workers");
    fixture = await startFixture(scope);
    state = scope.file("state");
    access = [`--kubeconfig=${fixture.lab.plane.adminConfig}`, `--state=${state}`];
  });
  afterAll(() => scope?.close());

  const workers = (...args: string[]) => run([DRAWBRIDGE, "workers", ...args, ...access]);
  const records = (): Promise<Worker[]> =>
    new WorkerStore({ api: fixture.lab.admin, namespace: NAMESPACE, directory: state }).read();
  const node = (name: string) => fixture.lab.admin.get<Node>(nodePath(name));
  const nodeNames = async () =>
    (await fixture.lab.admin.list<Node>("/api/v1/nodes")).items.map(({ metadata }) => metadata?.name).sort();
  const pods = async () => (await fixture.lab.admin.list<NodePod>("/api/v1/namespaces/default/pods")).items;

  /** Killed where it stands as soon as it has come this far. */
  async function killedAt(what: string, reached: (log: string) => boolean | Promise<boolean>, ...args: string[]) {
    const command = LabProcess.start(scope, {
      name: `killed-${what}`,
      command: [DRAWBRIDGE, "workers", ...args, ...access],
    });
    await command.ready(what, SOON, () => reached(command.log()));
    await command.kill();
    return command.log();
  }

  const upFlags = () => {
    const script = scope.file("make.sh");
    // Told twice, it makes one machine; and it waits while somebody holds it.
    const steps = [
      `[ -e ${fixture.machines}/$1 ] || { cp $2 ${fixture.machines}/.$1 && mv ${fixture.machines}/.$1 ${fixture.machines}/$1; }`,
      `echo $1 >> ${scope.file("made.txt")}`,
      `i=0; while [ -e ${scope.file("hold")}-$1 ] && [ $i -lt 400 ]; do sleep 0.05; i=$((i+1)); done`,
    ];
    writeFileSync(script, `${steps.join("\n")}\n`);
    return [
      ...[
        "up",
        "--pool=workers",
        "--count=2",
        "-f",
        fixture.poolFile,
        "--approve",
        "--timeout=60s",
        "--pod-image=none",
      ],
      ...["--provider=command", `--create-command=sh ${script} {name} {userdata}`],
      `--delete-command=rm -f ${fixture.machines}/{name}`,
    ];
  };

  test("nothing is begun for a pool that is not there, or when nobody would let machines in", async () => {
    const nobody = await workers("up", "--pool=nobody", "--approve");
    expect(nobody).toMatchObject({ code: 1, stdout: "" });
    expect(nobody.stderr).toContain(`there is no pool ${NAMESPACE}/nobody`);
    const closed = await workers(...upFlags().filter((flag) => flag !== "--approve"));
    expect(closed.code).toBe(1);
    expect(closed.stderr).toContain("nobody approves certificate requests");
    expect(existsSync(state)).toBe(false);
  });

  test("come up, killed in the middle of making machines and resumed by the same command", async () => {
    const hold = `${scope.file("hold")}-workers-1`;
    writeFileSync(hold, "");
    await killedAt("the second machine is being made", () => existsSync(`${fixture.machines}/workers-1`), ...upFlags());
    rmSync(hold);
    expect((await records()).map(({ made }) => made)).toEqual([true, false]);
    const brought = await workers(...upFlags());
    expect(brought).toMatchObject({ code: 0 });
    expect(brought.stdout).toContain(`All 2 workers of ${NAMESPACE}/workers are at work.`);
    expect(brought.stderr).toMatch(/workers-1: client certificate request csr-workers-1 approved/);
    expect(readFileSync(scope.file("made.txt"), "utf8")).toBe("workers-0\nworkers-1\nworkers-1\n");
    expect(await nodeNames()).toEqual(["workers-0", "workers-1"]);
    // Its pods are gone again.
    await until("no pod is left", SOON, async () => (await pods()).length === 0);
  });

  test("have the pool's labels and taints, and the hash they were made with", async () => {
    const { metadata, spec } = await node("workers-0");
    expect(metadata?.labels).toMatchObject({ tier: "front", [label.nodePool]: "workers" });
    expect(spec?.taints).toContainEqual(taint);
    expect(metadata?.annotations?.[annotation.currentConfigVersion]).toBe((await records())[0]?.hash);
  });

  test("have tokens of their own, which our server knows: each fetch has a name, and each payload", async () => {
    const { claims } = await configMapInventory(fixture.lab.admin, NAMESPACE)();
    expect(claims.map(({ worker }) => worker).sort()).toEqual(["workers-0", "workers-1"]);
    const named = (name: string) => Buffer.from(`${name}\n`).toString("base64");
    const payload = fixture.hypervisor.payloads.get("workers-1") ?? "";
    expect(payload).toContain(named("workers-1"));
    expect(payload).not.toContain(named("workers-0"));
    const again = await workers(...upFlags(), "--output=json");
    expect(JSON.parse(again.stdout).made.map(({ action }: { action: string }) => action)).toEqual(["kept", "kept"]);
  });

  test("workers that are not Ready are named with what is missing", async () => {
    fixture.hypervisor.broken.add("workers-1");
    await until("it says so", SOON, async () =>
      (await node("workers-1")).status?.conditions?.some(({ status, type }) => type === "Ready" && status === "False"),
    );
    const verify = (...flags: string[]) => workers("verify", "--pool=workers", "--pods=none", ...flags);
    const found = await verify("--timeout=2s", "--output=json");
    expect(found.code).toBe(1);
    const verdict = JSON.parse(found.stdout) as VerifyResult;
    expect(verdict.workers.map(({ ready }) => ready)).toEqual([true, false]);
    expect(verdict.workers[1]?.problem?.message).toBe(
      "its node is not Ready: KubeletNotReady: cni plugin not initialized",
    );
    expect(verdict.workers[1]?.problem?.remedy).toContain("drawbridge workers doctor");
    expect(found.stderr).toContain("1 of 2 workers are Ready; workers-1: its node is not Ready");
    expect(await verify("workers-0")).toMatchObject({ code: 0 });
    expect((await verify("workers-7")).stderr).toContain("there is no worker workers-7");
    fixture.hypervisor.broken.delete("workers-1");
    expect(await verify("--timeout=60s")).toMatchObject({ code: 0 });
  });

  test("become three, made as the others were", async () => {
    const flags = ["scale", "--pool=workers", "--count=3", "--approve", "--timeout=60s"];
    const planned = await workers(...flags, "--dry-run");
    expect(planned.stdout).toBe("workers-2 would be made\n");
    expect((await records()).length).toBe(2);
    expect(await workers(...flags)).toMatchObject({ code: 0, stdout: "workers-2 made\n" });
    expect(await nodeNames()).toEqual(["workers-0", "workers-1", "workers-2"]);
  });

  test("fall behind when their pool's configuration changes", async () => {
    const list = async () => {
      const { stdout } = await workers("list", "--output=json");
      return JSON.parse(stdout).workers as { node: string; configuration: string }[];
    };
    expect((await list()).map(({ configuration, node }) => `${node} ${configuration}`)).toEqual(
      Array(3).fill("Ready current"),
    );
    const path = namedPath("ConfigMap", { namespace: NAMESPACE, name: "demo" });
    const demo = await fixture.lab.admin.get<ConfigMap>(path);
    await fixture.lab.admin.update(path, { ...demo, data: { ...demo.data, version: "4.18.1" } } as ConfigMap);
    await until("they are behind", SOON, async () =>
      (await list()).every(({ configuration }) => configuration === "behind"),
    );
  });

  test("are replaced one by one: drained within the budget, killed and resumed, under a new name", async () => {
    const admin = fixture.lab.plane.admin;
    await admin.apply(...web(1));
    const onNode = () =>
      until("the pod runs", SOON, async () => {
        const [pod] = (await pods()).filter(({ status }) => status?.phase === "Running");
        return pod?.spec?.nodeName;
      });
    const old = await onNode();
    await admin.apply(podOn(old, "daemon", "DaemonSet"), podOn(old, "stray"));
    const replace = ["replace", old, "--approve", "--timeout=60s"];

    const refusal = await workers(...replace);
    expect(refusal.code).toBe(1);
    expect(refusal.stderr).toContain("default/stray would not be started elsewhere (--force lets it go)");
    expect((await node(old)).spec?.unschedulable).toBeUndefined();
    expect((await records()).some(({ leaving }) => leaving !== undefined)).toBe(false);
    await admin.run(["delete", "pod", "stray", "--grace-period=0", "--force"]);

    // One of one may not be missing.
    await killedAt("the budget holds", (log) => log.includes("Cannot evict pod"), ...replace);
    expect((await node(old)).spec?.unschedulable).toBe(true);
    expect((await records()).find(({ name }) => name === old)?.leaving).toBe("replaced");
    expect((await workers("up", "--pool=workers", "--count=3", "--approve")).stderr).toContain(
      `${old} is being replaced: first go on with drawbridge workers replace ${old}`,
    );

    await admin.apply(...web(2));
    const done = await workers(...replace);
    expect(done).toMatchObject({ code: 0, stdout: `${old} is replaced by workers-3\n` });
    expect(done.stderr).toMatch(new RegExp(`${old}: default/web-\\w+ is evicted`));
    expect(await nodeNames()).toEqual(
      ["workers-0", "workers-1", "workers-2", "workers-3"].filter((name) => name !== old),
    );
    expect(existsSync(`${fixture.machines}/${old}`)).toBe(false);
    const tokens = await fixture.lab.admin.get<Secret>(
      namedPath("Secret", { namespace: NAMESPACE, name: "worker-tokens-workers" }),
    );
    expect(Object.keys(tokens.data ?? {})).not.toContain(old);
    expect((await workers("list")).stdout).toMatch(/workers-3 .* Ready +[0-9a-f]{8} +current/);
    expect(await workers(...replace)).toMatchObject({ code: 0, stdout: `${old} was replaced by workers-3 before\n` });
  });

  test("become fewer, those that are behind first", async () => {
    const fewer = await workers("scale", "--pool=workers", "--count=1", "--timeout=60s");
    expect(fewer).toMatchObject({ code: 0 });
    expect(fewer.stdout.match(/ removed$/gm)?.length).toBe(2);
    expect(await nodeNames()).toEqual(["workers-3"]);
    expect((await records()).map(({ name }) => name)).toEqual(["workers-3"]);
  });

  test("are not judged while the API is away", async () => {
    await fixture.lab.plane.apiServer.stop();
    const found = await workers("verify", "--pool=workers", "--timeout=2s");
    expect(found).toMatchObject({ code: 1, stdout: "" });
    expect(found.stderr.trim().split("\n").at(-1)).toMatch(
      /^Error: The Kubernetes API at .* did not answer .*DB_API_UNREACHABLE/,
    );
  });
});
