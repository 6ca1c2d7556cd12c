/** Archives in the format of a kernel's initramfs (cpio, newc). */

export interface Entry {
  readonly path: string;
  readonly content: Buffer | string;
  /** Its type and its rights. */
  readonly mode: number;
}

export const file = (path: string, content: Buffer | string, rights = 0o644): Entry => ({
  ...{ path, content, mode: 0o100000 | rights },
});
export const folder = (path: string): Entry => ({ path, content: "", mode: 0o040755 });
export const link = (path: string, target: string): Entry => ({ path, content: target, mode: 0o120777 });

/** Folders must come before what is in them. */
export function cpioArchive(entries: readonly Entry[]): Buffer {
  const end: Entry = { path: "TRAILER!!!", content: "", mode: 0 };
  return Buffer.concat([...entries, end].flatMap(recordOf));
}

function recordOf({ content, mode, path }: Entry, index: number): Buffer[] {
  const body = Buffer.from(content);
  const name = Buffer.from(`${path}\0`);
  // Inode, mode, owner, group, links, time, size, four numbers of devices, length of the name, checksum.
  const fields = [index + 1, mode, 0, 0, 1, 0, body.length, 0, 0, 0, 0, name.length, 0];
  const head = `070701${fields.map((field) => field.toString(16).padStart(8, "0")).join("")}`;
  return [padded(Buffer.concat([Buffer.from(head), name])), padded(body)];
}

function padded(part: Buffer): Buffer {
  return Buffer.concat([part, Buffer.alloc((4 - (part.length % 4)) % 4)]);
}
