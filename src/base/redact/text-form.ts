/** Bytes that are text, and how they spell it. */

export interface TextForm {
  readonly text: string;
  readonly encoding: "utf8" | "utf16le" | "utf16be";
}

/** Undefined for what is no text. `least`: fewer bytes prove nothing. */
export function asText(bytes: Buffer, least = 0): TextForm | undefined {
  if (bytes.length < least) return undefined;
  const encoding = encodingOf(bytes);
  const text =
    encoding === "utf8"
      ? bytes.toString("utf8")
      : swapped(bytes, encoding)
          .toString("utf16le")
          .replace(/^\ufeff/, "");
  return isReadable(text) ? { text, encoding } : undefined;
}

export function fromText({ text, encoding }: TextForm): Buffer {
  if (encoding === "utf8") return Buffer.from(text);
  return swapped(Buffer.from(`\ufeff${text}`, "utf16le"), encoding);
}

function swapped(bytes: Buffer, encoding: TextForm["encoding"]): Buffer {
  const even = Buffer.from(bytes.subarray(0, bytes.length - (bytes.length % 2)));
  return encoding === "utf16be" ? even.swap16() : even;
}

/** By its mark, or by the zeros that plain text has in every other byte. */
function encodingOf(bytes: Buffer): TextForm["encoding"] {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return "utf16le";
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return "utf16be";
  if (bytes.length < 4 || !bytes.includes(0)) return "utf8";
  const zeros = [0, 0];
  const looked = Math.min(bytes.length, 1024);
  for (let index = 0; index < looked; index++) if (bytes[index] === 0) zeros[index % 2]!++;
  if (zeros[1]! > looked * 0.3 && zeros[0] === 0) return "utf16le";
  return zeros[0]! > looked * 0.3 && zeros[1] === 0 ? "utf16be" : "utf8";
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const UNREADABLE = /[\u0000-\u0006\u000e-\u001a\u001c-\u001f\ufffd]/;

function isReadable(text: string): boolean {
  return text !== "" && !UNREADABLE.test(text);
}
