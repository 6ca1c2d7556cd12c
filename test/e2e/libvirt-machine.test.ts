/** A machine of --provider libvirt that boots: the real ignition in it reads fw_cfg, asks the Ignition server and writes what it gets. */
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { NAMESPACE, PAYLOAD, POOL, poolObjects } from "../../demo/nodes/pool.js";
import { machineSteps } from "../../src/cluster/nodes/providers/index.js";
import { runSteps } from "../../src/cluster/nodes/providers/run.js";
import { plainWorker } from "../../src/cluster/nodes/providers/testing/worker.js";
import type { Worker } from "../../src/cluster/nodes/workers/worker.js";
import { Authority } from "../support/lab/certificates.js";
import { equipped } from "../support/lab/equipment.js";
import { LabProcess } from "../support/lab/process.js";
import { must, run } from "../support/lab/run.js";
import { Scope } from "../support/lab/scope.js";
import { until } from "../support/lab/wait.js";
import { ours } from "../support/processes/executables.js";
import { freePort } from "../support/processes/ports.js";
import { hasKvm, makeGuest } from "./libvirt-guest.js";
import { LibvirtLab } from "./libvirt-lab.js";

const DRAWBRIDGE = ours("drawbridge");
const MACHINE = `${POOL}-0`;
const SOON = 60_000;
/** Without KVM, on a busy host. */
const BOOT_WITHIN_MS = 150_000;

const ready = await equipped({ machine: true });

describe.skipIf(!ready)("a machine that libvirt makes", () => {
  const scope = new Scope("libvirt");
  let libvirt: LibvirtLab;
  let console = "";
  /** That of all machines, which only the Ignition server gives out. */
  let credential = "";
  const objects = scope.file("objects");
  const state = scope.file("state");

  const workers = (command: string, ...flags: string[]) =>
    run([DRAWBRIDGE, "workers", command, `--directory=${objects}`, `--state=${state}`, ...flags]);
  const report = () =>
    new Map([...console.matchAll(/^([0-9a-f]{64}) {2}\.(\S+)/gm)].map(([, hash, path]) => [path, hash]));
  const hashOf = (text: string) => createHash("sha256").update(text).digest("hex");

  beforeAll(async () => {
    libvirt = await LibvirtLab.start(scope);
    mkdirSync(objects);
    const port = await freePort();
    const ca = readFileSync(new Authority(scope.folder, "api").cert, "utf8");
    // The host, as machines behind QEMU's NAT see it.
    const pool = poolObjects({ ca, token: "of-a-machine", url: "https://api.example:6443" }, `10.0.2.2:${port}`);
    writeFileSync(scope.file("pool.yaml"), pool);
    credential = parseAllDocuments(pool)
      .map((document) => document.getIn(["stringData", "kubeconfig"]))
      .join("");
    writeFileSync(scope.file("payload.yaml"), PAYLOAD);
    await must([DRAWBRIDGE, "nodepool", "apply", `--directory=${objects}`, "-f", scope.file("pool.yaml")]);
    const start = (name: string, ...args: string[]) =>
      LabProcess.start(scope, { name, command: [DRAWBRIDGE, ...args, `--directory=${objects}`] });
    start("controller", "nodepool", "controller", "--issue-certificate", `--health-port=${await freePort()}`);
    start(
      ...(["ignition-server", "ignition", "serve", `--namespace=${NAMESPACE}`] as const),
      ...[`--payload=${scope.file("payload.yaml")}`, "--cert-secret=drawbridge-ignition-serving-cert"],
      ...[`--addr=127.0.0.1:${port}`, `--metrics-addr=127.0.0.1:${await freePort()}`],
    );
    await until("user data", SOON, async () => (await workers("create", `--pool=${POOL}`, "--dry-run")).code === 0);
    await must(["qemu-img", "create", "-q", "-f", "qcow2", `${libvirt.images}/base.qcow2`, "16M"]);
    await libvirt.virsh("pool-refresh", "default");
  });
  afterAll(() => scope.close());

  test("boots, reads its user data, and writes the configuration that the Ignition server has for it", async () => {
    const { initrd, kernel } = makeGuest(scope);
    const log = scope.file("console.log");
    const made = await workers(
      ...([
        "create",
        `--pool=${POOL}`,
        "--provider=libvirt",
        `--libvirt-uri=${libvirt.uri}`,
        "--image=base.qcow2",
      ] as const),
      ...["--disk=1", "--memory=512", "--vcpus=1", "--network=user", `--create-arg=--serial=file,path=${log}`],
      `--create-arg=--boot=kernel=${kernel},initrd=${initrd},kernel_args='console=ttyS0 quiet'`,
      `--create-arg=--virt-type=${(await hasKvm(kernel)) ? "kvm" : "qemu"}`,
    );
    expect(made).toMatchObject({ code: 0, stdout: expect.stringContaining(`${MACHINE} made`) });
    await until(`its report on ${log}`, BOOT_WITHIN_MS, () => {
      console = readFileSync(log, "utf8").replaceAll("\r", "");
      return console.includes("report ended");
    });
    expect(console).toContain("ignition fetch ended with 0\n");
    expect(console).toContain("ignition files ended with 0\n");
    expect(report().get("/etc/hostname")).toBe(hashOf(`${MACHINE}\n`));
    expect(report().get("/etc/kubernetes/bootstrap-kubeconfig")).toBe(hashOf(credential));
    expect([...report().keys()]).toContain("/etc/kubernetes/kubelet.yaml");
  });

  test("has its user data in a file that only QEMU reads, and on no command line", async () => {
    const [, token = ""] = /Bearer ([\w+/=]+)/.exec(readFileSync(`${state}/${MACHINE}.ign`, "utf8")) ?? [];
    expect(token).not.toBe("");
    const line = readFileSync(`/proc/${await libvirt.pidOf(scope, MACHINE)}/cmdline`, "utf8");
    const volume = `${libvirt.images}/${MACHINE}.ign`;
    expect([line.includes(`name=opt/com.coreos/config,file=${volume}`), line.includes(token)]).toEqual([true, false]);
    expect(readFileSync(volume, "utf8")).toContain(token);
    const { mode, uid } = statSync(volume);
    expect([mode & 0o777, uid]).toEqual([0o600, 64055]);
  });

  test("is made once and removed once, however often that is asked for", async () => {
    const worker: Worker = {
      ...{ ...plainWorker, name: MACHINE, provider: "libvirt", connection: libvirt.uri },
      shape: { ...plainWorker.shape, image: "base.qcow2", diskGb: "1", network: "user" },
    };
    const again = (verb: "create" | "delete") =>
      runSteps(MACHINE, machineSteps(verb, worker, `${state}/${MACHINE}.ign`));
    await again("create");
    expect(await workers("delete", MACHINE)).toMatchObject({ code: 0 });
    const left = async () => [
      (await libvirt.virsh("list", "--all", "--name")).trim(),
      (await libvirt.virsh("vol-list", "default")).match(/\S+\.(ign|qcow2)(?= )/g),
    ];
    expect(await left()).toEqual(["", ["base.qcow2"]]);
    await again("delete");
    expect(await left()).toEqual(["", ["base.qcow2"]]);
  });
});
