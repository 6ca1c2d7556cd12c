import { expect, test } from "vitest";
import type { Worker } from "../workers/worker.js";
import { machineSteps } from "./index.js";
import { shellText } from "./run.js";
import { NO_SHAPE } from "./settings.js";
import { plainWorker } from "./testing/worker.js";

const worker: Worker = {
  ...{ ...plainWorker, provider: "libvirt", connection: "qemu:///system" },
  shape: { ...NO_SHAPE, image: "rhcos.qcow2" },
};
const lines = (verb: "create" | "delete", one: Worker = worker) =>
  machineSteps(verb, one, "/s/w-0.ign").map(({ command }) => shellText(command));

test("libvirt gets user data as a volume, a disk on top of the image, and a machine that reads the volume by fw_cfg", () => {
  const virsh = "virsh --connect=qemu:///system";
  expect(lines("create")).toEqual([
    `${virsh} vol-delete --pool default w-0.ign`,
    `${virsh} vol-create-as default w-0.ign 0 --format raw`,
    `${virsh} vol-upload --pool default w-0.ign /s/w-0.ign`,
    `${virsh} vol-create-as default w-0.qcow2 120G --format qcow2 --backing-vol rhcos.qcow2 --backing-vol-format qcow2`,
    `${virsh} vol-path --pool default w-0.ign`,
    [
      "virt-install --connect=qemu:///system --name=w-0 --import --autostart --noautoconsole",
      "--memory=8192 --vcpus=2 --osinfo=detect=on,require=off --graphics=none",
      "--disk=vol=default/w-0.qcow2,bus=virtio --network=network=default,model=virtio",
      "'--sysinfo=type=fwcfg,entry0.name=opt/com.coreos/config,entry0.file={volume-path}'",
    ].join(" "),
  ]);
  expect(lines("delete")).toEqual([
    `${virsh} destroy w-0`,
    `${virsh} undefine w-0 --nvram --managed-save --snapshots-metadata`,
    `${virsh} vol-delete --pool default w-0.qcow2`,
    `${virsh} vol-delete --pool default w-0.ign`,
  ]);
});

test.each([
  ["nodes", "--network=network=nodes,model=virtio"],
  ["bridge=br0", "--network=bridge=br0,model=virtio"],
  ["user", "--network=user,model=virtio"],
])("libvirt's network %s is %s", (network, argument) => {
  const shape = { ...worker.shape, network, memoryMib: "512", vcpus: "1", diskGb: "10", storagePool: "fast" };
  const all = lines("create", { ...worker, shape, createArguments: ["--cpu=host-passthrough"] }).join("\n");
  for (const part of [
    argument,
    "--memory=512 --vcpus=1",
    "w-0.qcow2 10G",
    "vol=fast/w-0.qcow2",
    "--cpu=host-passthrough",
  ]) {
    expect(all).toContain(part);
  }
});

test.each([
  ["image", "/etc/shadow"],
  ["image", "--config"],
  ["network", "default,source.path=/x"],
  ["storagePool", "a b"],
  ["memoryMib", "1,hugepages=on"],
])("a Worker cannot give libvirt another argument by its %s %s", (key, value) => {
  expect(() => lines("create", { ...worker, shape: { ...worker.shape, [key]: value } })).toThrow(
    "it must be a plain name",
  );
});

test("libvirt needs an image, and an address that comes from no cluster", () => {
  expect(() => lines("create", { ...worker, shape: NO_SHAPE })).toThrow("give --image");
  const { connection: _, ...elsewhere } = worker;
  for (const verb of ["create", "delete"] as const) expect(() => lines(verb, elsewhere)).toThrow("give --libvirt-uri");
});

test.each([
  ["create", 1, "error: storage volume 'w-0.ign' exists already"],
  ["create", 5, "ERROR    Guest name 'w-0' is already in use."],
  ["delete", 0, "error: failed to get domain 'w-0'"],
  ["delete", 0, "error: Requested operation is not valid: domain is not running"],
  ["delete", 1, "error: failed to get domain 'w-0'"],
  ["delete", 2, "error: Storage volume not found: no storage vol with matching path 'w-0.qcow2'"],
] as const)("libvirt's step to %s no. %s was done before when it says %s", (verb, index, text) => {
  const { doneBefore } = machineSteps(verb, worker, "f")[index]!;
  expect([doneBefore?.test(text), doneBefore?.test("error: failed to connect to the hypervisor")]).toEqual([
    true,
    false,
  ]);
});

test("a disk that another machine has does not pass for a machine that was made before, and its own does", () => {
  const { doneBefore } = machineSteps("create", worker, "f")[5]!;
  const inUse = (by: string) =>
    doneBefore?.test(`ERROR    Disk /pool/a.qcow2 is already in use by other guests ${by}.`);
  expect([inUse("['other']"), inUse(`['other', '${worker.name}']`), inUse(`['${worker.name}']`)]).toEqual([
    false,
    false,
    true,
  ]);
});
