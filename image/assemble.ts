import { closeSync, existsSync, openSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { type TarMember, tar } from "../src/base/tar.js";
import { layer } from "./layer.js";
import { type Descriptor, Layout, writeWhole } from "./layout.js";

export interface Recipe {
  /** What runtimes call the image. */
  readonly name: string;
  readonly layers: readonly { readonly comment: string; readonly entries: readonly TarMember[] }[];
  /** User, Entrypoint and the like, as the OCI image configuration has them. */
  readonly config: Readonly<Record<string, unknown>>;
  readonly labels: Readonly<Record<string, string>>;
  /** The list of contents, as text; it stands beside the image in a folder, and nothing reads it from there. */
  readonly contents: string;
}

export interface Image {
  readonly name: string;
  /** Of the manifest: what `name@digest` pins. */
  readonly digest: string;
  /** Of all layers. */
  readonly bytes: number;
  readonly path: string;
}

const PLATFORM = { architecture: "amd64", os: "linux" };
const EPOCH = "1970-01-01T00:00:00Z";
const MANIFEST = "application/vnd.oci.image.manifest.v1+json";

/** Writes an image to a folder, or to an archive if the path ends with .tar: whole or not at all. */
export function assemble(recipe: Recipe, out: string): Image {
  const path = resolve(out);
  refuseToOverwrite(path);
  const unfinished = `${path}.${process.pid}.new`;
  try {
    const layout = new Layout(unfinished);
    const { manifest, bytes } = addImage(layout, recipe);
    layout.writeIndex([{ ...manifest, platform: PLATFORM, annotations: nameAnnotations(recipe.name) }]);
    writeFileSync(join(unfinished, "contents.json"), recipe.contents);
    finish(layout, path);
    return { name: recipe.name, digest: manifest.digest, bytes, path };
  } finally {
    for (const rest of [unfinished, `${unfinished}.tar`]) rmSync(rest, { recursive: true, force: true });
  }
}

function addImage(layout: Layout, { layers, config, labels }: Recipe): { manifest: Descriptor; bytes: number } {
  // Not compressed: a compressor's next version would change the digest, and registries' clients compress by themselves.
  const added = layers.map(({ entries }) => layout.addBlob("application/vnd.oci.image.layer.v1.tar", layer(entries)));
  const configuration = layout.addJson("application/vnd.oci.image.config.v1+json", {
    created: EPOCH,
    ...PLATFORM,
    config: { ...config, Labels: labels },
    rootfs: { type: "layers", diff_ids: added.map(({ digest }) => digest) },
    history: layers.map(({ comment }) => ({ created: EPOCH, comment })),
  });
  const manifest = layout.addJson(MANIFEST, {
    schemaVersion: 2,
    mediaType: MANIFEST,
    config: configuration,
    layers: added,
    annotations: labels,
  });
  return { manifest, bytes: added.reduce((sum, { size }) => sum + size, 0) };
}

/** containerd goes by the first, podman and skopeo by the second. */
const nameAnnotations = (name: string) => ({
  "io.containerd.image.name": name,
  "org.opencontainers.image.ref.name": name,
});

/** An image may be replaced; anything else at that path is somebody's. */
function refuseToOverwrite(path: string): void {
  if (!existsSync(path) || path.endsWith(".tar")) return;
  const names = readdirSync(path);
  if (names.length > 0 && !names.includes("oci-layout")) {
    throw new Error(`${path} has other files in it: name an empty folder or one that does not exist yet.`);
  }
}

function finish(layout: Layout, path: string): void {
  if (!path.endsWith(".tar")) {
    rmSync(path, { recursive: true, force: true });
    renameSync(layout.folder, path);
    return;
  }
  const archive = `${layout.folder}.tar`;
  const file = openSync(archive, "w");
  try {
    for (const chunk of tar(layout.entries())) writeWhole(file, chunk);
  } finally {
    closeSync(file);
  }
  renameSync(archive, path);
}
