import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/** Programs of the system that the lab uses but that are no peers, with the Debian package that brings each. */
const PACKAGES = {
  "apt-get": "apt",
  busybox: "busybox-static",
  curl: "curl",
  "dpkg-deb": "dpkg",
  haproxy: "haproxy",
  ipset: "ipset",
  libvirtd: "libvirt-daemon",
  modprobe: "kmod",
  "qemu-img": "qemu-utils",
  "qemu-system-x86_64": "qemu-system-x86",
  iptables: "iptables",
  nft: "nftables",
  nsenter: "util-linux",
  openssl: "openssl",
  promtool: "prometheus",
  setpriv: "util-linux",
  ss: "iproute2",
  unshare: "util-linux",
  virsh: "libvirt-clients",
  "virt-install": "virtinst",
} as const;

export type Tool = keyof typeof PACKAGES;

export function toolPath(tool: Tool): string | undefined {
  // Debian keeps daemons where only root's PATH looks.
  const folders = [...(process.env.PATH ?? "").split(delimiter).filter(Boolean), "/usr/sbin"];
  return folders.map((folder) => join(folder, tool)).find(isExecutable);
}

export const packageOf = (tool: Tool): string => PACKAGES[tool];

export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
