/** A system of a kernel, busybox and the real ignition that reads its user data by fw_cfg and says on its console what it wrote. */
import { copyFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { component } from "../support/lab/equipment.js";
import { mustSync, run } from "../support/lab/run.js";
import type { Scope } from "../support/lab/scope.js";
import { toolPath } from "../support/lab/tools.js";
import { cpioArchive, type Entry, file, folder, link } from "./cpio.js";

const MODULES = ["virtio_pci", "virtio_net", "qemu_fw_cfg"];
const APPLETS = ["cat", "find", "ip", "modprobe", "mount", "poweroff", "sh", "sha256sum", "sleep", "xargs"];

/** Behind QEMU's own NAT the host is 10.0.2.2. A machine that nobody ends ends itself. */
const INIT = `#!/bin/sh
export PATH=/bin
mount -t proc proc /proc; mount -t sysfs sysfs /sys; mount -t devtmpfs dev /dev; mount -t tmpfs run /run; mount -t tmpfs sysroot /sysroot
(sleep 150; poweroff -f) &
modprobe virtio_pci; modprobe virtio_net
ip link set eth0 up; ip addr add 10.0.2.15/24 dev eth0; ip route add default via 10.0.2.2
for stage in fetch files; do
  ignition --platform=qemu --stage=$stage --root=/sysroot --log-to-stdout \\
    --config-cache=/run/config --state-file=/run/state --neednet=/run/neednet
  echo "ignition $stage ended with $?"
done
cd /sysroot; find . -type f | xargs sha256sum
echo "report ended"
while :; do sleep 10; done
`;

/** The version of a kernel of a Debian package. */
function kernelVersion(): string {
  const found = existsSync("/lib/modules") ? readdirSync("/lib/modules") : [];
  const version = found.find((name) => existsSync(`/boot/vmlinuz-${name}`));
  if (version === undefined) throw new Error("there is no kernel: run .ci/install-packages");
  return version;
}

/** Files with the kernel and the initramfs. */
export function makeGuest(scope: Scope): { kernel: string; initrd: string } {
  const version = kernelVersion();
  const [kernel, initrd] = [scope.file("vmlinuz"), scope.file("initrd")];
  copyFileSync(`/boot/vmlinuz-${version}`, kernel);
  writeFileSync(initrd, cpioArchive(withFolders(contents(version))));
  return { kernel, initrd };
}

function contents(version: string): Entry[] {
  const ignition = component("ignition");
  const libraries = [...mustSync(["ldd", ignition]).matchAll(/(\/\S+) \(0x/g)].map(([, path = ""]) => path);
  const modules = MODULES.flatMap((name) => {
    const lines = mustSync(["modprobe", "-S", version, "--show-depends", name]);
    return [...lines.matchAll(/^insmod (\S+)/gm)].map(([, path = ""]) => path);
  });
  const index = `/lib/modules/${version}/modules.dep`;
  return [
    file("init", INIT, 0o755),
    ...["dev", "proc", "run", "sys", "sysroot", "tmp"].map(folder),
    file("bin/busybox", readFileSync(toolPath("busybox") ?? ""), 0o755),
    ...APPLETS.map((applet) => link(`bin/${applet}`, "busybox")),
    file("bin/ignition", readFileSync(ignition), 0o755),
    ...[...new Set([...libraries, ...modules, index])].map((path) => file(path.slice(1), readFileSync(path), 0o755)),
  ];
}

function withFolders(entries: readonly Entry[]): Entry[] {
  const made = new Set([".", ...entries.filter(({ mode }) => mode === folder("").mode).map(({ path }) => path)]);
  const above = (path: string): Entry[] => {
    const parent = dirname(path);
    if (made.has(parent)) return [];
    made.add(parent);
    return [...above(parent), folder(parent)];
  };
  return entries.flatMap((entry) => [...above(entry.path), entry]);
}

/** Whether KVM runs a kernel here, to the end that one without a root file system has; its device may be there and be of no use. */
export async function hasKvm(kernel: string): Promise<boolean> {
  const { code, stdout } = await run(
    [
      ...["qemu-system-x86_64", "-accel", "kvm", "-cpu", "host", "-m", "256", "-nodefaults", "-display", "none"],
      ...["-no-reboot", "-serial", "stdio", "-kernel", kernel, "-append", "console=ttyS0 quiet panic=-1"],
    ],
    { timeoutMs: 8_000 },
  );
  return code === 0 && stdout.includes("VFS: Unable to mount root fs");
}
