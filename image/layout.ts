import { createHash } from "node:crypto";
import {
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import type { TarMember } from "../src/base/tar.js";

/** How one part of an image refers to another. */
export interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

/** An image layout as the OCI image specification describes it: blobs by digest, and an index that names the images. */
export class Layout {
  readonly folder: string;
  readonly #blobs: string;

  constructor(folder: string) {
    this.folder = folder;
    this.#blobs = join(folder, "blobs", "sha256");
    mkdirSync(this.#blobs, { recursive: true });
    writeFileSync(join(folder, "oci-layout"), JSON.stringify({ imageLayoutVersion: "1.0.0" }));
  }

  addBlob(mediaType: string, chunks: Iterable<Buffer>): Descriptor {
    const unfinished = join(this.#blobs, "unfinished");
    const file = openSync(unfinished, "w");
    const hash = createHash("sha256");
    let size = 0;
    try {
      for (const chunk of chunks) {
        hash.update(chunk);
        writeWhole(file, chunk);
        size += chunk.length;
      }
    } finally {
      closeSync(file);
    }
    const digest = hash.digest("hex");
    renameSync(unfinished, join(this.#blobs, digest));
    return { mediaType, digest: `sha256:${digest}`, size };
  }

  addJson(mediaType: string, value: object): Descriptor {
    return this.addBlob(mediaType, [Buffer.from(JSON.stringify(value))]);
  }

  /** Names the images; whatever reads the layout begins here. */
  writeIndex(manifests: readonly (Descriptor & { readonly annotations: object; readonly platform: object })[]): void {
    const mediaType = "application/vnd.oci.image.index.v1+json";
    writeFileSync(join(this.folder, "index.json"), JSON.stringify({ schemaVersion: 2, mediaType, manifests }));
  }

  /** What an archive of this layout consists of. */
  *entries(): Generator<TarMember> {
    const file = (path: string): TarMember => ({ path, mode: 0o644, content: readFileSync(join(this.folder, path)) });
    yield file("oci-layout");
    yield file("index.json");
    yield { path: "blobs/", mode: 0o755 };
    yield { path: "blobs/sha256/", mode: 0o755 };
    for (const name of readdirSync(this.#blobs).sort()) yield file(`blobs/sha256/${name}`);
  }
}

export function writeWhole(file: number, chunk: Buffer): void {
  for (let done = 0; done < chunk.length; ) done += writeSync(file, chunk, done);
}
