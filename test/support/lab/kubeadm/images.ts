import { readFileSync } from "node:fs";
import { assemble } from "../../../../image/assemble.js";
import { libraryEntries } from "../../../../image/libraries.js";
import type { TarMember } from "../../../../src/base/tar.js";
import { component } from "../equipment.js";
import { must } from "../run.js";
import type { Scope } from "../scope.js";
import { toolPath } from "../tools.js";

/** What kubeadm would pull, by the last part of the name, and the peer that is in our image of that name. */
const PEERS: Readonly<Record<string, string>> = {
  "kube-apiserver": "kube-apiserver",
  "kube-controller-manager": "kube-controller-manager",
  "kube-scheduler": "kube-scheduler",
  "kube-proxy": "kube-proxy",
  etcd: "etcd-for-kubeadm",
};

/** It holds a pod's namespaces, and tells its version to kubeadm's check before an upgrade. */
const PAUSE = `#!/bin/busybox sh
[ "$1" = -v ] && exec /bin/busybox echo pause
exec /bin/busybox sleep 2147483647
`;

/** Archives of the images that this kubeadm asks for, under the names by which it asks, by the last part; no CoreDNS. */
export async function buildKubeadmImages(scope: Scope, version: string): Promise<Record<string, string>> {
  const listed = await must([component("kubeadm"), "config", "images", "list", `--kubernetes-version=${version}`]);
  const names = new Map(listed.split("\n").map((name) => [/([^/:]+):[^/:]+$/.exec(name)?.[1] ?? "", name]));
  const archives: Record<string, string> = {};
  for (const short of [...Object.keys(PEERS), "pause"]) {
    const name = names.get(short);
    if (name === undefined) throw new Error(`kubeadm asks for no image ${short}, but for ${[...names.keys()]}`);
    const layers = [{ comment: short, entries: entriesOf(short) }];
    const config = { Env: ["PATH=/usr/local/bin:/usr/sbin"], Entrypoint: [`/${short}`] };
    const recipe = { name, layers, config, labels: {}, contents: "[]\n" };
    archives[short] = assemble(recipe, scope.file(`image-${short}.tar`)).path;
  }
  return archives;
}

const program = (path: string, content: Buffer): TarMember => ({ path, mode: 0o755, content });

function entriesOf(short: string): TarMember[] {
  const busybox = toolPath("busybox") ?? "busybox";
  if (short === "pause") return [program("pause", Buffer.from(PAUSE)), program("bin/busybox", readFileSync(busybox))];
  const peer = program(`usr/local/bin/${short}`, readFileSync(component(PEERS[short] ?? short)));
  return short === "kube-proxy" ? [peer, ...nft()] : [peer];
}

/** kube-proxy writes its rules with this program, from the system and with the system's libraries. */
function nft(): TarMember[] {
  const content = readFileSync(toolPath("nft") ?? "nft");
  const libraries = libraryEntries(content, [{ name: "this machine", version: "", folder: "/" }]);
  return [program("usr/sbin/nft", content), ...libraries];
}
