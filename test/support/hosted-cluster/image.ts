import { readFileSync } from "node:fs";
import { assemble, type Image } from "../../../image/assemble.js";
import { libraryEntries } from "../../../image/libraries.js";
import { component } from "../lab/equipment.js";

/** One image for all of them: pods of one node share its layers. */
const PROGRAMS = ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"] as const;
const NAME = "lab.drawbridge.test/control-plane:1";

/** The programs of a control plane, each under its own name in the image's root. */
export function buildControlPlaneImage(archive: string): Image {
  const layers = PROGRAMS.map((name) => {
    const content = readFileSync(component(name));
    // Debian's etcd is linked with the C library, the others need none.
    const libraries = libraryEntries(content, [{ name: "this machine", version: "", folder: "/" }]);
    return { comment: name, entries: [{ path: name, mode: 0o755, content }, ...libraries] };
  });
  return assemble({ name: NAME, layers, config: {}, labels: {}, contents: "[]\n" }, archive);
}
