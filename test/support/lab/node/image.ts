import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { tar as pieces, type TarMember } from "../../../../src/base/tar.js";

export const POD_IMAGE = "lab.drawbridge.test/busybox:1";
export const PAUSE_IMAGE = "lab.drawbridge.test/pause:1";
export const GREETING = "hello from a page in the pod network";

const tar = (entries: TarMember[]): Buffer => Buffer.concat([...pieces(entries)]);

const APPLETS = ["sh", "cat", "echo", "httpd", "sleep", "sha256sum"];

/** Writes a docker archive with two images of one layer: a static busybox, which serves as workload and as pause. */
export function writeImages(path: string, busybox: string): string {
  const folders = ["bin", "tmp", "www"].map((folder): TarMember => ({ path: `${folder}/`, mode: 0o755 }));
  const links = APPLETS.map((name): TarMember => ({ path: `bin/${name}`, mode: 0o777, linkTo: "busybox" }));
  const layer = tar([
    ...folders,
    { path: "bin/busybox", mode: 0o755, content: readFileSync(busybox) },
    ...links,
    { path: "www/index.html", mode: 0o644, content: Buffer.from(`${GREETING}\n`) },
  ]);
  const pod = configuration(layer, ["/bin/sh"]);
  const pause = configuration(layer, ["/bin/sleep", "2147483647"]);
  const manifest = [
    { Config: "pod.json", RepoTags: [POD_IMAGE], Layers: ["layer.tar"] },
    { Config: "pause.json", RepoTags: [PAUSE_IMAGE], Layers: ["layer.tar"] },
  ];
  const file = (name: string, content: Buffer): TarMember => ({ path: name, mode: 0o644, content });
  const archive = tar([
    file("manifest.json", Buffer.from(JSON.stringify(manifest))),
    file("pod.json", pod),
    file("pause.json", pause),
    file("layer.tar", layer),
  ]);
  writeFileSync(path, archive);
  return path;
}

function configuration(layer: Buffer, command: readonly string[]): Buffer {
  const digest = createHash("sha256").update(layer).digest("hex");
  return Buffer.from(
    JSON.stringify({
      architecture: process.arch === "arm64" ? "arm64" : "amd64",
      os: "linux",
      config: { Cmd: command, Env: ["PATH=/bin"] },
      rootfs: { type: "layers", diff_ids: [`sha256:${digest}`] },
    }),
  );
}
