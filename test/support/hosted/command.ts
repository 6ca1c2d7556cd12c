import { drawbridge } from "../../../src/cli/commands.js";

export interface Answer {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** `drawbridge hosted ...` in this process, with what it writes. One at a time. */
export async function hosted(...argv: readonly string[]): Promise<Answer> {
  const written = { stdout: "", stderr: "" };
  const real = { stdout: process.stdout.write, stderr: process.stderr.write };
  for (const name of ["stdout", "stderr"] as const) {
    process[name].write = (text: string | Uint8Array) => {
      written[name] += String(text);
      return true;
    };
  }
  try {
    return { status: await drawbridge.run("drawbridge", ["hosted", ...argv]), ...written };
  } finally {
    process.stdout.write = real.stdout;
    process.stderr.write = real.stderr;
  }
}
