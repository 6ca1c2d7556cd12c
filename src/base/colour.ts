/** Colour where it helps: on terminals, unless the environment says otherwise. */

const SGR = { bold: 1, dim: 2, reverse: 7, red: 31, green: 32, yellow: 33, blue: 34 } as const;
export type Paint = keyof typeof SGR;
export type Painter = (text: string, ...paints: readonly Paint[]) => string;

type Environment = Readonly<Record<string, string | undefined>>;

/** FORCE_COLOR before NO_COLOR, as Node and its tools read them; 0 and false are no, and NO_COLOR counts when it is not empty. */
export function isColoured(stream: { readonly isTTY?: boolean }, env: Environment = process.env): boolean {
  const { FORCE_COLOR, NO_COLOR = "", TERM } = env;
  if (FORCE_COLOR !== undefined) return !["0", "false"].includes(FORCE_COLOR);
  return NO_COLOR === "" && stream.isTTY === true && TERM !== "dumb";
}

export const painted: Painter = (text, ...paints) =>
  paints.length === 0 || text === "" ? text : `\u001b[${paints.map((paint) => SGR[paint]).join(";")}m${text}\u001b[0m`;

/** Paints only where the stream shows it. */
export const painterFor = (stream: { readonly isTTY?: boolean }, env?: Environment): Painter =>
  isColoured(stream, env) ? painted : (text) => text;
