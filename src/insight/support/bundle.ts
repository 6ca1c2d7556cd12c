/** Everything that explains an installation in one archive. What is not available is named in it; secrets are never in it. */

import { ArchiveWriter } from "../../base/archive-writer.js";
import { DrawbridgeError, messageOf } from "../../base/errors/error.js";
import { Scrubber } from "./scrub.js";

export interface BundleFile {
  /** Within the bundle. */
  readonly path: string;
  readonly content: Buffer | string;
  /** Only the end of it, or the first of a list, is there. */
  readonly isCut?: boolean;
}

/** One thing to be collected; it may turn out to be several files. A failure is written down and stops nothing. */
export interface BundlePart {
  /** As the manifest names it when it cannot be had. */
  readonly name: string;
  collect(): AsyncIterable<BundleFile> | Iterable<BundleFile> | Promise<Iterable<BundleFile>>;
}

export interface BundleOptions {
  readonly out: string;
  /** drawbridge's own. */
  readonly version: string;
  readonly now: Date;
  readonly parts: readonly BundlePart[];
  /** Secrets that were read to make the bundle. */
  readonly secrets: readonly string[];
}

export interface SupportManifest {
  readonly tool: string;
  readonly version: 1;
  readonly madeAt: string;
  readonly files: readonly {
    readonly path: string;
    readonly bytes: number;
    /** Secrets were taken out of it. */
    readonly redacted?: true;
    readonly cut?: true;
  }[];
  /** Available, but not put in. */
  readonly leftOut: readonly { readonly path: string; readonly why: string }[];
  /** Asked for, but not available. */
  readonly missing: readonly { readonly name: string; readonly why: string }[];
}

/** Of one file, before it is packed. */
export const LARGEST_FILE = 8 * 1024 * 1024;
const LARGEST_BUNDLE = 64 * 1024 * 1024;

/** Throws DB_SUPPORT when it cannot be written; then nothing is left behind. */
export async function writeBundle(options: BundleOptions): Promise<SupportManifest> {
  const bundle = new Bundle(options);
  try {
    for (const part of options.parts) await bundle.take(part);
    return await bundle.close();
  } catch (reason) {
    await bundle.discard();
    throw new DrawbridgeError("DB_SUPPORT", messageOf(reason), { cause: reason });
  }
}

class Bundle {
  readonly #options: BundleOptions;
  readonly #archive: ArchiveWriter;
  readonly #scrubber: Scrubber;
  readonly #root: string;
  readonly #files: SupportManifest["files"][number][] = [];
  readonly #leftOut: SupportManifest["leftOut"][number][] = [];
  readonly #missing: SupportManifest["missing"][number][] = [];
  #bytes = 0;

  constructor(options: BundleOptions) {
    this.#options = options;
    this.#archive = new ArchiveWriter(options.out);
    this.#scrubber = new Scrubber(options.secrets);
    this.#root = `drawbridge-support-${options.now.toISOString().replace(/[-:]|\..*$/g, "")}`;
  }

  async take({ name, collect }: BundlePart): Promise<void> {
    try {
      for await (const piece of await collect()) await this.#add(piece);
    } catch (reason) {
      if (this.#archive.failed) throw reason;
      this.#missing.push({ name: this.#sentence(name), why: this.#sentence(messageOf(reason)) });
    }
  }

  async close(): Promise<SupportManifest> {
    const { now, version } = this.#options;
    const manifest: SupportManifest = {
      ...{ tool: `drawbridge ${version}`, version: 1, madeAt: now.toISOString() },
      ...{ files: this.#files, leftOut: this.#leftOut, missing: this.#missing },
    };
    await this.#archive.add(`${this.#root}/manifest.json`, Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`), now);
    await this.#archive.close();
    return manifest;
  }

  discard(): Promise<void> {
    return this.#archive.discard();
  }

  async #add({ path: given, content, isCut = false }: BundleFile): Promise<void> {
    const path = this.#freeName(given);
    const raw = Buffer.from(content);
    if (raw.length > LARGEST_FILE || this.#bytes + raw.length > LARGEST_BUNDLE) {
      return void this.#leftOut.push({ path, why: "it is too large" });
    }
    const scrubbed = this.#scrubber.scrub(path, raw);
    if (scrubbed.state === "left-out") return void this.#leftOut.push({ path, why: scrubbed.why });
    const bytes = scrubbed.content.length;
    this.#bytes += bytes;
    await this.#archive.add(`${this.#root}/${path}`, scrubbed.content, this.#options.now);
    this.#files.push({
      ...{ path, bytes },
      ...(scrubbed.changed ? { redacted: true } : {}),
      ...(isCut ? { cut: true } : {}),
    });
  }

  /** Two logs may have the same name. */
  #freeName(path: string): string {
    const taken = new Set([...this.#files, ...this.#leftOut].map((file) => file.path));
    let name = path;
    for (let count = 2; taken.has(name); count++) name = path.replace(/(?=\.[^./]*$)|$/, `-${count}`);
    return name;
  }

  /** Sentences may quote a process or a file. */
  #sentence(text: string): string {
    const clean = this.#scrubber.scrub("sentence.txt", Buffer.from(text));
    return clean.state === "kept" ? clean.content.toString("utf8") : "(not shown: it holds a secret)";
  }
}
