/** Everything that explains an installation in one archive. What is not available is named in it; secrets are never in it. */
import { ArchiveWriter } from "../../base/archive-writer.js";
import { DrawbridgeError, messageOf } from "../../base/errors/error.js";
import { type Redacted, redactFile } from "../../base/redact/file.js";
import { REMOVED } from "../../base/redact/names.js";
import { spellingsOf } from "../../base/redact/spellings.js";

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

export type SupportManifest = Awaited<ReturnType<typeof writeBundle>>;

/** Of one file, before it is packed. */
export const LARGEST_FILE = 8 * 1024 * 1024;
const LARGEST_BUNDLE = 64 * 1024 * 1024;

/** Throws DB_SUPPORT when it cannot be written; then nothing is left behind. */
export async function writeBundle({ out, version, now, parts, secrets }: BundleOptions) {
  const archive = new ArchiveWriter(out);
  const scrub = scrubber(secrets);
  const root = `drawbridge-support-${now.toISOString().replace(/[-:]|\..*$/g, "")}`;
  const manifest = {
    ...{ tool: `drawbridge ${version}`, version: 1, madeAt: now.toISOString() },
    /** `redacted`: secrets were taken out of it. */
    files: [] as { path: string; bytes: number; redacted?: true; cut?: true }[],
    /** Available, but not put in. */
    leftOut: [] as { path: string; why: string }[],
    /** Asked for, but not available. */
    missing: [] as { name: string; why: string }[],
  };
  const { files, leftOut, missing } = manifest;
  let total = 0;

  /** Two logs may have the same name. */
  const freeName = (path: string): string => {
    const taken = new Set([...files, ...leftOut].map((file) => file.path));
    let name = path;
    for (let count = 2; taken.has(name); count++) name = path.replace(/(?=\.[^./]*$)|$/, `-${count}`);
    return name;
  };
  const add = async ({ path: given, content, isCut }: BundleFile): Promise<void> => {
    const path = freeName(given);
    const raw = Buffer.from(content);
    const isTooLarge = raw.length > LARGEST_FILE || total + raw.length > LARGEST_BUNDLE;
    const scrubbed = isTooLarge ? ({ state: "left-out", why: "it is too large" } as const) : scrub(path, raw);
    if (scrubbed.state === "left-out") return void leftOut.push({ path, why: scrubbed.why });
    const bytes = scrubbed.content.length;
    total += bytes;
    await archive.add(`${root}/${path}`, scrubbed.content, now);
    files.push({ path, bytes, ...(scrubbed.changed && { redacted: true }), ...(isCut && { cut: true }) });
  };
  /** Sentences may quote a process or a file. */
  const sentence = (text: string): string => {
    const clean = scrub("sentence.txt", Buffer.from(text));
    return clean.state === "kept" ? clean.content.toString("utf8") : "(not shown: it holds a secret)";
  };

  try {
    for (const { name, collect } of parts) {
      try {
        for await (const piece of await collect()) await add(piece);
      } catch (reason) {
        if (archive.failed) throw reason;
        missing.push({ name: sentence(name), why: sentence(messageOf(reason)) });
      }
    }
    await archive.add(`${root}/manifest.json`, Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`), now);
    await archive.close();
    return manifest;
  } catch (reason) {
    await archive.discard();
    throw new DrawbridgeError("DB_SUPPORT", messageOf(reason), { cause: reason });
  }
}

/** The one redaction, and what only a bundle knows: the very secrets it was made with. */
export function scrubber(secrets: readonly string[]): (path: string, content: Buffer) => Redacted {
  const known = secrets.map((text) => text.trim()).filter((text) => text.length >= 4);
  const spellings = [...new Set(known.flatMap(spellingsOf))].sort((one, other) => other.length - one.length);
  return (path, content) => {
    // First the known ones: what is taken out by its form may have cut one of them in two.
    const text = content.toString("latin1");
    const rest = spellings.reduce((left, secret) => left.replaceAll(secret, REMOVED), text);
    const redacted = redactFile(path, rest === text ? content : Buffer.from(rest, "latin1"));
    return redacted.state === "left-out" ? redacted : { ...redacted, changed: redacted.changed || rest !== text };
  };
}
