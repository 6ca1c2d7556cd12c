const CODES = { bold: 1, dim: 2, red: 31, green: 32 } as const;

export type Paint = (colour: keyof typeof CODES, text: string) => string;

/** Colour only where somebody looks at a terminal and has not asked to be spared (NO_COLOR). */
export function painter(stream: NodeJS.WriteStream): Paint {
  const isWanted = stream.isTTY && !process.env.NO_COLOR && process.env.TERM !== "dumb";
  return (colour, text) => (isWanted ? `\x1b[${CODES[colour]}m${text}\x1b[0m` : text);
}
