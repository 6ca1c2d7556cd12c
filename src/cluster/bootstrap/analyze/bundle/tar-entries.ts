/** A tar archive as it streams by: regular files only, nothing is ever written anywhere. */
import { ByteSource } from "./byte-source.js";
import type { BundleEntry } from "./entry.js";
import { DamagedArchive } from "./refusal.js";
import { BLOCK, paxRecords, readHeader, type TarHeader } from "./tar-header.js";

export interface TarLimits {
  /** Of the archive when unpacked. */
  readonly bytes: number;
  readonly members: number;
}

/** A bundle of a large cluster unpacks to one or two gigabytes. */
export const tarLimits: TarLimits = { bytes: 6 * 1024 ** 3, members: 200_000 };

/** Names and pax records are small; a large one is an attack on memory. */
const LONGEST_EXTENSION = 64 * 1024;

interface Override {
  readonly path?: string;
  readonly size?: number;
}

/** Throws DamagedArchive. */
export async function* tarEntries(
  stream: AsyncIterable<Buffer>,
  limits: TarLimits = tarLimits,
): AsyncGenerator<BundleEntry, void, void> {
  const source = new ByteSource(stream);
  let override: Override = {};
  try {
    for (let members = 0; ; members++) {
      const header = await nextHeader(source);
      if (header === undefined) {
        // To the end of the stream, where a checksum may still object.
        await source.skip(limits.bytes - source.taken);
        return;
      }
      if (members >= limits.members) throw new DamagedArchive(`it has more than ${limits.members} members`);
      const size = override.size ?? header.size;
      if (source.taken + size > limits.bytes) {
        throw new DamagedArchive(`it unpacks to more than ${Math.round(limits.bytes / 1024 ** 2)} MiB, as no logs do`);
      }
      const end = source.taken + Math.ceil(size / BLOCK) * BLOCK;
      if (header.type === "x" || header.type === "L") {
        override = { ...override, ...(await extension(source, header)) };
      } else {
        if (header.type === "0" || header.type === "7")
          yield entryOf(source, override.path ?? header.name, size, header);
        override = {};
      }
      const left = end - source.taken;
      if ((await source.skip(left)) < left) throw cutShort();
    }
  } finally {
    await source.close();
  }
}

async function nextHeader(source: ByteSource): Promise<TarHeader | undefined> {
  const block = await source.take(BLOCK);
  // An archive whose end marker is missing altogether was still being written.
  if (block.length < BLOCK) throw cutShort();
  return readHeader(block);
}

function entryOf(source: ByteSource, name: string, size: number, { modifiedAt }: TarHeader): BundleEntry {
  return {
    path: safePath(name),
    size,
    modifiedAt,
    async *content() {
      let length = 0;
      for await (const piece of source.pieces(size)) {
        length += piece.length;
        yield piece;
      }
      if (length < size) throw cutShort();
    },
  };
}

async function extension(source: ByteSource, { type, size }: TarHeader): Promise<Override> {
  if (size > LONGEST_EXTENSION) throw new DamagedArchive("it has a member with an absurdly long name");
  const content = await source.take(size);
  if (content.length < size) throw cutShort();
  if (type === "L") return { path: content.toString("utf8").replace(/\0.*$/s, "") };
  const records = paxRecords(content);
  const length = Number(records.get("size"));
  const path = records.get("path");
  return {
    ...(path === undefined ? {} : { path }),
    ...(records.has("size") && Number.isSafeInteger(length) && length >= 0 ? { size: length } : {}),
  };
}

/** We unpack nothing, but who made such a name wanted somebody to: nothing else in the archive can be trusted either. */
function safePath(name: string): string {
  const path = name.replace(/^(\.\/+)+/, "");
  const leadsOut = path.startsWith("/") || path.includes("\\") || path.split("/").includes("..");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  if (leadsOut || path === "" || /[\u0000-\u001f\u007f]/.test(path)) {
    throw new DamagedArchive(`it holds the path ${JSON.stringify(name.slice(0, 100))}, which no gather writes`);
  }
  return path;
}

function cutShort(): DamagedArchive {
  return new DamagedArchive("it ends in the middle");
}
