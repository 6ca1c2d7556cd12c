/** How a secret that is known may be spelled in some text. */
export function spellingsOf(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const percent = [...bytes].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join("");
  const hex = bytes.toString("hex");
  const base64 = [0, 1, 2].map((shift) => within(bytes, shift)).filter((text) => text.length >= 6);
  return [
    ...[bytes.toString("latin1"), encodeURIComponent(secret), percent, percent.toUpperCase(), hex, hex.toUpperCase()],
    ...[bytes.toString("base64"), bytes.toString("base64url"), JSON.stringify(secret).slice(1, -1)],
    ...base64,
    ...base64.map((text) => text.replaceAll("+", "-").replaceAll("/", "_")),
  ];
}

/** The base64 that a longer text has where the bytes stand in it, without characters that depend on what is around. */
function within(bytes: Buffer, shift: number): string {
  const encoded = Buffer.concat([Buffer.alloc(shift), bytes]).toString("base64");
  return encoded.slice(Math.ceil((shift * 8) / 6), Math.floor(((shift + bytes.length) * 8) / 6));
}
