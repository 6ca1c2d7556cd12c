/** How people give a machine its user data: with coreos-installer, or by the network with iPXE. Nothing here holds a token. */
import { shellText } from "./run.js";

export interface Installation {
  /** Name of the worker. */
  readonly name: string;
  /** The file with its user data. */
  readonly userData: string;
  /** The disk on which CoreOS is installed. */
  readonly device: string;
}

/** Commands of which one is enough: on a live system, or for an ISO or an initramfs that installs by itself. */
export function installerText({ device, name, userData }: Installation): string {
  const customized = (kind: "iso" | "pxe", from: string, to: string) =>
    shellText([
      ...["coreos-installer", kind, "customize", `--dest-device=${device}`, `--dest-ignition=${userData}`],
      ...["-o", to, from],
    ]);
  return `# On a live system of CoreOS, to which the file was copied:
${shellText(["coreos-installer", "install", device, `--ignition-file=${userData}`])}
# Or an ISO that erases ${device} and installs without a question:
${customized("iso", "coreos-live.iso", `${name}.iso`)}
# Or an initramfs for PXE that does:
${customized("pxe", "coreos-live-initramfs.img", `${name}-initramfs.img`)}
# Each of these images holds the worker's token: give it to this machine only, and delete it afterwards.
`;
}

/** Files are fetched from a server of the user's own: `coreos-installer pxe customize` made the initramfs, with user data in it. */
export function ipxeText({ name }: Pick<Installation, "name">, from: string): string {
  return `#!ipxe
# ${name}-initramfs.img is made by the command of --format coreos-installer. It holds the worker's token: serve it
# to this machine only, and delete it afterwards.
set base ${from}
kernel \${base}/coreos-live-kernel initrd=main coreos.live.rootfs_url=\${base}/coreos-live-rootfs.img ignition.firstboot ignition.platform.id=metal
initrd --name main \${base}/${name}-initramfs.img
boot
`;
}
