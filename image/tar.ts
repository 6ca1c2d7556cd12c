/** Just enough of ustar to write an image: regular files, folders, symbolic links, all owned by root, all from 1970. */
export interface Entry {
  /** Relative; a folder's ends with a slash. */
  readonly path: string;
  readonly mode: number;
  /** Absent: a folder. */
  readonly content?: Buffer;
  readonly linkTo?: string;
}

const BLOCK = 512;
const NAME_BYTES = 100;
const PREFIX_BYTES = 155;

/** The archive in pieces, in the order given. File contents are handed on as they are, never copied. */
export function* tar(entries: Iterable<Entry>): Generator<Buffer> {
  for (const entry of entries) {
    yield header(entry);
    if (entry.content === undefined) continue;
    yield entry.content;
    const rest = entry.content.length % BLOCK;
    if (rest > 0) yield Buffer.alloc(BLOCK - rest);
  }
  yield Buffer.alloc(2 * BLOCK);
}

function header({ path, mode, content, linkTo }: Entry): Buffer {
  const block = Buffer.alloc(BLOCK);
  const octal = (value: number, offset: number, length: number) =>
    block.write(`${value.toString(8).padStart(length - 1, "0")}\0`, offset, "latin1");
  const { prefix, name } = split(path);
  if (Buffer.byteLength(linkTo ?? "") > NAME_BYTES)
    throw new Error(`The link ${path} points too far for a tar header.`);
  block.write(name, 0, NAME_BYTES, "utf8");
  octal(mode, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(content?.length ?? 0, 124, 12);
  octal(0, 136, 12);
  block.write(linkTo !== undefined ? "2" : content !== undefined ? "0" : "5", 156, "latin1");
  block.write(linkTo ?? "", 157, NAME_BYTES, "utf8");
  block.write("ustar\x0000", 257, "latin1");
  block.write(prefix, 345, PREFIX_BYTES, "utf8");
  // The sum is taken with its own field read as spaces.
  block.fill(" ", 148, 156);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return block;
}

/** A long path is kept in two fields, divided at a slash that is written in neither. */
function split(path: string): { prefix: string; name: string } {
  if (Buffer.byteLength(path) <= NAME_BYTES) return { prefix: "", name: path };
  for (let at = path.indexOf("/"); at !== -1; at = path.indexOf("/", at + 1)) {
    const [prefix, name] = [path.slice(0, at), path.slice(at + 1)];
    const fits = Buffer.byteLength(prefix) <= PREFIX_BYTES && Buffer.byteLength(name) <= NAME_BYTES;
    if (fits && name !== "") return { prefix, name };
  }
  throw new Error(`The path ${path} is too long for a tar header.`);
}
