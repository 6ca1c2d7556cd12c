/**
 * Workers as objects of a real API server: several administrators at once, a lost laptop, what was remembered before, nodes that
 * were there already, and tokens that end with a window.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { KubeApi, KubeObject } from "../../src/cluster/kube/port.js";
import { CLIENT_SIGNER, outcomeOf, SERVING_SIGNER } from "../../src/cluster/nodes/csr/signing-request.js";
import type { WorkerObject } from "../../src/cluster/nodes/workers/resource.js";
import { equipped } from "../support/lab/equipment.js";
import { LabProcess } from "../support/lab/process.js";
import { run } from "../support/lab/run.js";
import { Scope } from "../support/lab/scope.js";
import { until } from "../support/lab/wait.js";
import { file } from "./csr-lab.js";
import { CLIENT, SERVING, subjectOf } from "./csr-rows.js";
import { DRAWBRIDGE, type Fixture, NAMESPACE, startFixture } from "./workers-lab.js";
import { fetchConfig } from "./workers-machines.js";

const SOON = 60_000;
const WORKERS = `/apis/drawbridge.dev/v1alpha1/namespaces/${NAMESPACE}/workers`;

const ready = await equipped({ controlPlane: true, controllers: true, scheduler: true });

describe.skipIf(!ready)("workers that several people and programs share", () => {
  let scope: Scope;
  let fixture: Fixture;
  let admin: KubeApi;
  let printed = "";

  beforeAll(async () => {
    scope = new Scope("workers-shared");
    fixture = await startFixture(scope);
    admin = fixture.lab.admin;
    const apply = [DRAWBRIDGE, "nodepool", "apply", kubeconfig(), `--namespace=${NAMESPACE}`, "-f", fixture.poolFile];
    expect(await run(apply)).toMatchObject({ code: 0 });
    await until(
      "user data",
      SOON,
      async () => (await from("first", "create", "--pool=workers", "--dry-run")).code === 0,
    );
  });
  afterAll(() => scope?.close());

  const kubeconfig = () => `--kubeconfig=${fixture.lab.plane.adminConfig}`;
  /** A command on a host with a disk of its own. */
  const from = (host: string, command: string, ...args: string[]) =>
    run([DRAWBRIDGE, "workers", command, ...args, kubeconfig(), `--state=${scope.file(host)}`]);
  const objects = async () => (await admin.list<WorkerObject>(WORKERS)).items;
  const namesOf = async () =>
    (await objects()).filter(({ spec }) => spec?.removed === undefined).map(({ metadata }) => metadata?.name);
  const worker = (name: string) => admin.get<WorkerObject>(`${WORKERS}/${name}`);
  const made = () => readFileSync(scope.file("made.txt"), "utf8").trim().split("\n").sort();
  const byCommand = () => {
    const script = scope.file("make.sh");
    const machine = `${fixture.machines}/$1`;
    writeFileSync(
      script,
      `echo $1 >> ${scope.file("made.txt")}\nsleep 0.2\ncp $2 ${fixture.machines}/.$1 && mv ${fixture.machines}/.$1 ${machine}\n`,
    );
    return ["--provider=command", `--create-command=sh ${script} {name} {userdata}`];
  };
  const removing = () => `--delete-command=rm -f ${fixture.machines}/{name}`;

  test("two administrators at once make each machine once, under different names", async () => {
    const flags = ["--pool=workers", ...byCommand(), removing(), "--node-cidr=192.0.2.0/24"];
    const both = await Promise.all([
      from("first", "create", "--count=2", ...flags),
      from("second", "create", "--count=4", ...flags),
    ]);
    // The one that is later with the smaller number finds more than it asked for.
    expect(both[1]).toMatchObject({ code: 0 });
    expect(both[0]?.code === 0 || both[0]?.stderr.includes("more than 2")).toBe(true);
    const names = ["workers-0", "workers-1", "workers-2", "workers-3"];
    expect([await namesOf(), made()]).toEqual([names, names]);
    printed = both[1]?.stdout ?? "";
  });

  test("the command that create prints admits them, as it is printed", async () => {
    const line = printed.trim().split("\n").at(-1) ?? "";
    expect(line).toMatch(/^Admit them with drawbridge csr approver --kubeconfig \S+ --namespace drawbridge$/);
    const words = line.replace("Admit them with drawbridge ", "").split(" ");
    LabProcess.start(scope, { name: "approver", command: [DRAWBRIDGE, ...words] });
    await until("all four are nodes", SOON, async () => {
      const { items } = await admin.list("/api/v1/nodes");
      return items.length === 4;
    });
    await until("the approver's word", SOON, async () => {
      return (await objects()).every(({ status }) => status?.readyAt !== undefined && status.served !== undefined);
    });
    // As its kubelet would: it reports an address in the machines' network, and asks for a certificate with it.
    await reported("workers-0", "192.0.2.10");
    await serving("csr-s0", "workers-0", "192.0.2.10");
    expect(await fixture.lab.issued("csr-s0")).toContain("BEGIN CERTIFICATE");
    const { status } = await worker("workers-0");
    expect(status?.client?.request).toBe("csr-workers-0");
    expect(status?.serving?.names).toEqual(["DNS:workers-0", "IP:192.0.2.10"]);
  });

  async function reported(name: string, address: string): Promise<void> {
    await until("its address", SOON, async () => {
      const node = await admin.get<KubeObject & { status?: object }>(`/api/v1/nodes/${name}`);
      const status = { ...node.status, addresses: [{ type: "InternalIP", address }] };
      return admin.update(`/api/v1/nodes/${name}/status`, { ...node, status } as KubeObject).then(
        () => true,
        () => false,
      );
    });
  }

  /** Controllers write to a new Node at the same time. */
  async function putNode(name: string, address: string): Promise<void> {
    await admin.create<KubeObject>("/api/v1/nodes", { apiVersion: "v1", kind: "Node", metadata: { name } });
    await reported(name, address);
  }

  const serving = (name: string, node: string, address: string) =>
    file(fixture.lab.asNode(node), {
      ...{ name, signerName: SERVING_SIGNER, usages: SERVING },
      pem: fixture.lab.request(subjectOf(node), `DNS:${node},IP:${address}`),
    });

  test("a token ends with its worker's window, and is good again when that is opened again", async () => {
    const flags = ["--pool=workers", "--name-prefix=late", "--window=1m"];
    expect(await from("first", "create", ...flags)).toMatchObject({ code: 0 });
    const pointer = async () => JSON.parse(readFileSync(`${scope.file("first")}/late-0.ign`, "utf8"));
    await until("the payload", SOON, async () => (await fetchConfig(await pointer())).status === 200);
    const late = await worker("late-0");
    const spec = { ...late.spec, notBefore: "2020-01-01T00:00:00Z", deadline: "2020-01-01T00:01:00Z" };
    await admin.update(`${WORKERS}/late-0`, { ...late, spec } as WorkerObject);
    await until("the refusal", SOON, async () => (await fetchConfig(await pointer())).status === 511);
    expect(await from("first", "userdata", "late-0", "--renew")).toMatchObject({ code: 0 });
    await until("the payload again", SOON, async () => (await fetchConfig(await pointer())).status === 200);
    const last = await pointer();
    expect(await from("first", "delete", "late-0")).toMatchObject({ code: 0 });
    await until("the refusal for good", SOON, async () => (await fetchConfig(last)).status === 511);
  });

  test("what somebody edits stays, and what makes no sense is refused by the API server", async () => {
    const patch = (body: object) =>
      fixture.lab.plane.admin.try([
        "patch",
        "worker",
        "workers-1",
        "-n",
        NAMESPACE,
        "--type=merge",
        "-p",
        JSON.stringify(body),
      ]);
    expect(await patch({ spec: { dnsNames: ["edited.example"] } })).toMatchObject({ code: 0 });
    expect(await from("second", "userdata", "workers-1")).toMatchObject({ code: 0 });
    expect((await worker("workers-1")).spec?.dnsNames).toEqual(["edited.example"]);
    expect((await patch({ spec: { pool: "other/pool" } })).stderr).toContain("the pool of a worker cannot be changed");
    expect((await patch({ spec: { deadline: "2001-01-01T00:00:00Z" } })).stderr).toContain("deadline must be after");
    expect((await patch({ spec: { provider: "magic" } })).stderr).toContain("Unsupported value");
    const shown = await fixture.lab.plane.admin.run(["get", "workers", "-n", NAMESPACE]);
    expect(shown).toMatch(/NAME +POOL +MADE +SERVED +JOINED +READY +REMOVED +AGE\n/);
    expect(shown).toMatch(/workers-1 +drawbridge\/workers +true +[0-9a-f]{8} /);
  });

  test("a runner with nothing on its disk lists, drains and deletes; commands it has to be told", async () => {
    expect((await from("runner", "list")).stdout.match(/^workers-\d /gm)).toHaveLength(4);
    const untold = await from("runner", "delete", "workers-3");
    expect(untold.stderr).toContain("which command removes workers-3?");
    expect(await namesOf()).toContain("workers-3");
    expect(await from("runner", "scale", "--pool=workers", "--count=3", removing())).toMatchObject({
      ...{ code: 0, stdout: "workers-3 removed\n" },
    });
    expect(existsSync(`${fixture.machines}/workers-3`)).toBe(false);
    const again = await from("first", "create", "--pool=workers", "--count=4", "--dry-run", ...byCommand());
    expect(again.stdout).toContain("workers-4 would be made");
  });

  test("a machine that is installed again under its name gets one new first certificate", async () => {
    const bootstrapper = await fixture.lab.asBootstrapper();
    const first = (name: string, node: string) =>
      file(bootstrapper, {
        name,
        pem: fixture.lab.request(subjectOf(node)),
        signerName: CLIENT_SIGNER,
        usages: CLIENT,
      });
    const outcome = async (name: string) => outcomeOf(await fixture.lab.find(name));
    expect(await from("first", "create", "--pool=workers", "--names=host.example")).toMatchObject({ code: 0 });
    await first("csr-host-1", "host.example");
    await until("the first", SOON, async () => (await outcome("csr-host-1")) === "approved");
    await putNode("host.example", "192.0.2.50");
    await until("it joined", SOON, async () => (await worker("host.example")).status?.joinedAt);
    await fixture.lab.remove("/api/v1/nodes/host.example");
    const kept = await from("first", "create", "--pool=workers", "--names=host.example");
    expect(kept.stdout).toContain("host.example kept");
    const reinstalled = await from("first", "create", "--pool=workers", "--names=host.example", "--reinstall");
    expect(reinstalled).toMatchObject({ code: 0 });
    await first("csr-host-2", "host.example");
    await until("the one that is new", SOON, async () => (await outcome("csr-host-2")) === "approved");
    await first("csr-host-3", "host.example");
    await until("the approver's word", SOON, async () => {
      const { stdout } = await run([DRAWBRIDGE, "csr", "explain", "csr-host-3", kubeconfig()]);
      return stdout.includes("BROKEN  single-client");
    });
    expect(await outcome("csr-host-3")).toBe("pending");
  });

  test("a node that was there before gets serving certificates once it is adopted", async () => {
    await putNode("old", "192.0.2.60");
    await serving("csr-old", "old", "192.0.2.60");
    const explain = () => run([DRAWBRIDGE, "csr", "explain", "csr-old", kubeconfig()]);
    expect((await explain()).stdout).toContain("BROKEN  known-node");
    expect(await from("runner", "adopt", "--pool=workers", "old")).toMatchObject({
      ...{ code: 0, stdout: "old is a worker; its serving certificates are for old, 192.0.2.60\n" },
    });
    expect(await fixture.lab.issued("csr-old")).toContain("BEGIN CERTIFICATE");
  });

  test("a state directory of before is taken over once, and a broken one is left as it is", async () => {
    const directory = scope.file("before");
    mkdirSync(directory, { mode: 0o700 });
    const path = `${directory}/workers.json`;
    writeFileSync(path, "{", { mode: 0o600 });
    expect((await from("before", "list")).stderr).toContain("cannot be used");
    expect(readFileSync(path, "utf8")).toBe("{");
    const shape = { machineType: "", diskGb: "", subnet: "", image: "", imageProject: "", project: "" };
    const record = {
      ...{ name: "rack-0", pool: `${NAMESPACE}/workers`, zone: "", provider: "files", shape, hash: "11111111" },
      ...{ notBefore: "2030-01-01T00:00:00Z", deadline: "2030-01-01T02:00:00Z", ips: [], made: true, ownToken: false },
      ...{ createCommand: [], deleteCommand: [] },
    };
    writeFileSync(path, JSON.stringify({ workers: [record], numbers: { rack: 7 } }), { mode: 0o600 });
    const taken = await from("before", "list");
    expect(taken.stderr).toContain("rack-0 is taken over");
    expect(taken.stdout).toMatch(/^rack-0 /m);
    expect((await from("before", "list")).stderr).toBe("");
    const next = await from("runner", "create", "--pool=workers", "--name-prefix=rack", "--count=2", "--dry-run");
    expect(next.stdout).toContain("rack-7 would be made");
  });

  test("an approver may write no Worker, and the role for people who make workers is enough for that", async () => {
    const { admin: kubectl } = fixture.lab.plane;
    const approver = `--as=system:serviceaccount:${NAMESPACE}:drawbridge-csr-approver`;
    const image = ["--image=none", "--components=approver"];
    expect(await run([DRAWBRIDGE, "nodepool", "install", ...image, kubeconfig()])).toMatchObject({ code: 0 });
    const may = async (verb: string, what: string) =>
      (await kubectl.try(["auth", "can-i", verb, what, "-n", NAMESPACE, approver])).stdout.trim();
    await until("its rights", SOON, async () => (await may("list", "workers.drawbridge.dev")) === "yes");
    expect(
      await Promise.all(["create", "update", "patch", "delete"].map((verb) => may(verb, "workers.drawbridge.dev"))),
    ).toEqual(["no", "no", "no", "no"]);
    await kubectl.run(["create", "rolebinding", "ci", "-n", NAMESPACE, "--role=drawbridge-workers", "--user=ci"]);
    await kubectl.run(["create", "clusterrole", "see-nodes", "--verb=list", "--resource=nodes"]);
    await kubectl.run(["create", "clusterrolebinding", "ci", "--clusterrole=see-nodes", "--user=ci"]);
    const asRunner = (...args: string[]) =>
      run([
        ...[DRAWBRIDGE, "workers", ...args, `--state=${scope.file("ci")}`],
        `--kubeconfig=${fixture.lab.plane.kubeconfig("ci")}`,
      ]);
    const created = await until("the rights", SOON, async () => {
      const answer = await asRunner("create", "--pool=workers", "--names=ci-1");
      return answer.code === 0 ? answer : undefined;
    });
    expect(created.stdout).toContain("ci-1 user data written");
    expect(await asRunner("userdata", "ci-1", "--renew")).toMatchObject({ code: 0 });
    expect(await asRunner("list")).toMatchObject({ code: 0 });
    expect(await asRunner("delete", "ci-1")).toMatchObject({ code: 0 });
  });
});
