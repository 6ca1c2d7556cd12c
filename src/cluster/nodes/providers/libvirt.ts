/** Machines of libvirt: virsh makes their volumes, and virt-install the machines. */
import { workersError } from "../workers/worker.js";
import type { Machine, MachineStep, Provider } from "./provider.js";
import type { MachineShape } from "./settings.js";

/** What is not set. */
const USUAL: Partial<MachineShape> = {
  ...{ diskGb: "120", memoryMib: "8192", vcpus: "2", network: "default", storagePool: "default" },
};

/** Where Ignition looks for user data on the platform qemu. */
const FW_CFG = "opt/com.coreos/config";

/** Stands for the path of the volume with user data, which libvirt decides on. */
const VOLUME_PATH = "{volume-path}";

export const libvirt: Provider = {
  settings: ["image", "diskGb", "memoryMib", "vcpus", "network", "storagePool"],
  takesArguments: true,
  connects: true,
  steps(verb, worker, userData) {
    const { connection = "", name } = worker;
    if (connection === "") {
      const why = "its address stays on the disk of whoever gave it, and is not in this --state";
      throw workersError(`which libvirt has ${name}? ${why}: give --libvirt-uri`);
    }
    const shape = Object.fromEntries(
      libvirt.settings.map((key) => [key, worker.shape[key] || (USUAL[key] ?? "")]),
    ) as MachineShape;
    // What a Worker says must not become another argument or another part of one.
    const odd = libvirt.settings.find(
      (key) => !/^((bridge|network)=)?[\w.-]*$/.test(shape[key]) || /^-/.test(shape[key]),
    );
    if (odd !== undefined)
      throw workersError(`libvirt cannot use "${shape[odd]}" for ${name}: it must be a plain name`);
    const virsh = (command: string, ...more: string[]) => ["virsh", `--connect=${connection}`, command, ...more];
    return verb === "create" ? creation(worker, shape, userData, virsh) : removal(name, shape, virsh);
  },
};

type Virsh = (command: string, ...more: string[]) => string[];

function creation(worker: Machine, shape: MachineShape, userData: string, virsh: Virsh): MachineStep[] {
  const { connection, createArguments = [], name } = worker;
  const { diskGb, image, memoryMib, network, storagePool, vcpus } = shape;
  if (image === "")
    throw workersError(`libvirt needs an image for ${name}: give --image, a volume of the storage pool`);
  const volume = ["--pool", storagePool, `${name}.ign`];
  const doneBefore = /exists already/;
  return [
    // User data goes into the pool, where the hypervisor reads it, and is gone with the machine. An older one may be longer.
    volumeRemoval(virsh, storagePool, `${name}.ign`),
    { command: virsh("vol-create-as", storagePool, `${name}.ign`, "0", "--format", "raw"), doneBefore },
    { command: virsh("vol-upload", ...volume, userData) },
    {
      command: virsh(
        ...(["vol-create-as", storagePool, `${name}.qcow2`, `${diskGb}G`, "--format", "qcow2"] as const),
        ...["--backing-vol", image, "--backing-vol-format", "qcow2"],
      ),
      doneBefore,
    },
    { command: virsh("vol-path", ...volume), result: VOLUME_PATH },
    {
      command: [
        ...["virt-install", `--connect=${connection}`, `--name=${name}`, "--import", "--autostart", "--noautoconsole"],
        ...[`--memory=${memoryMib}`, `--vcpus=${vcpus}`, "--osinfo=detect=on,require=off", "--graphics=none"],
        ...[`--disk=vol=${storagePool}/${name}.qcow2,bus=virtio`, `--network=${networkText(network)},model=virtio`],
        `--sysinfo=type=fwcfg,entry0.name=${FW_CFG},entry0.file=${VOLUME_PATH}`,
        ...createArguments,
      ],
      // Of a machine that is there virt-install complains about the disk before it looks at the name.
      doneBefore: new RegExp(`Guest name '.*' is already in use|is already in use by other guests \\['${name}'\\]`),
    },
  ];
}

/** `user` is the hypervisor's own NAT; a name without more is a network of libvirt. */
const networkText = (network: string): string =>
  network === "user" || network.includes("=") ? network : `network=${network}`;

function removal(name: string, { storagePool }: MachineShape, virsh: Virsh): MachineStep[] {
  return [
    { command: virsh("destroy", name), doneBefore: /^error: failed to get domain '|domain is not running/ },
    {
      command: virsh("undefine", name, "--nvram", "--managed-save", "--snapshots-metadata"),
      doneBefore: /^error: failed to get domain '/,
    },
    // Only what was made for it: other volumes that it has may be others', too.
    volumeRemoval(virsh, storagePool, `${name}.qcow2`),
    volumeRemoval(virsh, storagePool, `${name}.ign`),
  ];
}

const volumeRemoval = (virsh: Virsh, pool: string, volume: string): MachineStep => ({
  command: virsh("vol-delete", "--pool", pool, volume),
  doneBefore: /Storage volume not found/,
});
