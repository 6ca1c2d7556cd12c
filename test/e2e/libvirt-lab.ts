/** A libvirt of its own: libvirtd in a mount namespace in which all its directories are the lab's. */
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { LabProcess } from "../support/lab/process.js";
import { must, run } from "../support/lab/run.js";
import type { Scope } from "../support/lab/scope.js";

const PLACES = ["/etc/libvirt", "/run/libvirt", "/var/lib/libvirt", "/var/cache/libvirt", "/var/log/libvirt"];

/** As Debian's package makes it, for whom QEMU runs. */
const USER = "libvirt-qemu";
const USER_ID = 64055;

const CONFIGURATION = {
  "libvirtd.conf": 'auth_unix_ro = "none"\nauth_unix_rw = "none"\n',
  "qemu.conf": [
    `user = "${USER}"\ngroup = "${USER}"\nsecurity_driver = "none"\nstdio_handler = "file"`,
    "cgroup_controllers = []\nnamespaces = []\n",
  ].join("\n"),
};

export class LibvirtLab {
  readonly uri: string;
  readonly images: string;

  private constructor(scope: Scope) {
    this.uri = `qemu+unix:///system?socket=${scope.file("libvirt/run/libvirt-sock")}`;
    this.images = scope.file("images");
  }

  static async start(scope: Scope): Promise<LibvirtLab> {
    const lab = new LibvirtLab(scope);
    // QEMU, which is another user, gets to its files.
    chmodSync(scope.folder, 0o711);
    mkdirSync(lab.images, { mode: 0o711 });
    const home = scope.file("libvirt");
    const own = (place: string) => `${home}/${place.split("/")[1] === "run" ? "run" : place.replaceAll("/", "_")}`;
    for (const place of PLACES) mkdirSync(own(place), { recursive: true, mode: 0o711 });
    for (const [name, text] of Object.entries(CONFIGURATION)) writeFileSync(`${own("/etc/libvirt")}/${name}`, text);
    writeFileSync(
      `${home}/passwd`,
      `${readFileSync("/etc/passwd", "utf8")}${USER}:x:${USER_ID}:${USER_ID}::/:/bin/false\n`,
    );
    writeFileSync(`${home}/group`, `${readFileSync("/etc/group", "utf8")}${USER}:x:${USER_ID}:\n`);
    const script = [
      "set -e",
      ...PLACES.flatMap((place) => [`mkdir -p ${place}`, `mount --bind ${own(place)} ${place}`]),
      ...["passwd", "group"].map((name) => `mount --bind ${home}/${name} /etc/${name}`),
      // Otherwise libvirtd, which may use it, asks QEMU, which may not, again and again what it can do.
      `if [ -e /dev/kvm ]; then mkdir ${home}/dev; mount -t tmpfs -o mode=711 dev ${home}/dev; mknod ${home}/dev/kvm c 10 232;`,
      `chown ${USER_ID} ${home}/dev/kvm; mount --bind ${home}/dev/kvm /dev/kvm; fi`,
      `exec libvirtd --config /etc/libvirt/libvirtd.conf --pid-file ${home}/pid`,
    ].join("\n");
    const daemon = LabProcess.start(scope, { name: "libvirtd", command: ["unshare", "--mount", "sh", "-c", script] });
    scope.defer(() => lab.#destroyAll());
    await daemon.ready("virsh is answered", 60_000, async () => (await run(lab.#virsh("uri"))).code === 0);
    await lab.virsh("pool-create-as", "default", "dir", "--target", lab.images);
    return lab;
  }

  /** Its output. */
  virsh(...words: string[]): Promise<string> {
    return must(this.#virsh(...words));
  }

  /** The process of a machine. */
  async pidOf(scope: Scope, machine: string): Promise<number> {
    return Number(readFileSync(scope.file(`libvirt/run/qemu/${machine}.pid`), "utf8"));
  }

  #virsh(...words: string[]): string[] {
    return ["virsh", `--connect=${this.uri}`, ...words];
  }

  /** QEMU does not end with libvirtd. */
  async #destroyAll(): Promise<void> {
    const { stdout } = await run(this.#virsh("list", "--name"));
    for (const name of stdout.split("\n").filter(Boolean)) await run(this.#virsh("destroy", name));
  }
}
