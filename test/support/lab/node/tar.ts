/** Just enough of ustar to write an image: regular files, folders, symbolic links. */
export interface Entry {
  readonly path: string;
  readonly mode: number;
  /** Absent: a folder. */
  readonly content?: Buffer;
  readonly linkTo?: string;
}

const BLOCK = 512;

export function tar(entries: readonly Entry[]): Buffer {
  const blocks = entries.flatMap((entry) => [header(entry), padded(entry.content ?? Buffer.alloc(0))]);
  return Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]);
}

function header({ path, mode, content, linkTo }: Entry): Buffer {
  const block = Buffer.alloc(BLOCK);
  const octal = (value: number, offset: number, length: number) =>
    block.write(`${value.toString(8).padStart(length - 1, "0")}\0`, offset, "latin1");
  block.write(path, 0, 100, "utf8");
  octal(mode, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(content?.length ?? 0, 124, 12);
  octal(0, 136, 12);
  block.write(linkTo !== undefined ? "2" : content !== undefined ? "0" : "5", 156, "latin1");
  block.write(linkTo ?? "", 157, 100, "utf8");
  block.write("ustar\x0000", 257, "latin1");
  // The sum is taken with its own field read as spaces.
  block.fill(" ", 148, 156);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return block;
}

function padded(content: Buffer): Buffer {
  return Buffer.concat([content, Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK)]);
}
