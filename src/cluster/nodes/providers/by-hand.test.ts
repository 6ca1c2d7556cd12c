import { expect, test } from "vitest";
import { installerText, ipxeText } from "./by-hand.js";

test("coreos-installer gets a worker's user data as a file, in each way that it has", () => {
  const text = installerText({ name: "host-a", userData: "workers/host-a.ign", device: "/dev/sda" });
  expect(text.split("\n").filter((line) => line !== "" && !line.startsWith("#"))).toEqual([
    "coreos-installer install /dev/sda --ignition-file=workers/host-a.ign",
    "coreos-installer iso customize --dest-device=/dev/sda --dest-ignition=workers/host-a.ign -o host-a.iso coreos-live.iso",
    "coreos-installer pxe customize --dest-device=/dev/sda --dest-ignition=workers/host-a.ign -o host-a-initramfs.img coreos-live-initramfs.img",
  ]);
});

test("an iPXE script boots the worker's own initramfs, and has user data in no argument", () => {
  const lines = ipxeText({ name: "host-a" }, "http://boot.example/coreos").split("\n");
  expect(lines[0]).toBe("#!ipxe");
  expect(lines.filter((line) => line !== "" && !line.startsWith("#"))).toEqual([
    "set base http://boot.example/coreos",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: iPXE's own variables
    "kernel ${base}/coreos-live-kernel initrd=main coreos.live.rootfs_url=${base}/coreos-live-rootfs.img ignition.firstboot ignition.platform.id=metal",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: iPXE's own variables
    "initrd --name main ${base}/host-a-initramfs.img",
    "boot",
  ]);
});
