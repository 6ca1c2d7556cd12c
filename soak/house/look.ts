import { readdirSync, readFileSync } from "node:fs";
import { request } from "node:http";

/** One plain GET on a connection of its own. */
export function get(port: number, path: string, token?: string, withinMs = 4_000): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const call = request({ host: "127.0.0.1", port, path, headers, agent: false, timeout: withinMs }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.once("error", reject);
      response.once("end", () => {
        const body = Buffer.concat(chunks).toString("utf8");
        if (response.statusCode === 200) resolve(body);
        else reject(new Error(`${path} answered ${response.statusCode}: ${body.slice(0, 200)}`));
      });
    });
    call.once("timeout", () => call.destroy(new Error(`no answer from ${path} within ${withinMs} ms`)));
    call.once("error", reject);
    call.end();
  });
}

/** The samples of a Prometheus page, by name with labels as printed. */
export type Samples = ReadonlyMap<string, number>;

export function parseSamples(page: string): Samples {
  const samples = new Map<string, number>();
  for (const line of page.split("\n")) {
    if (line === "" || line.startsWith("#")) continue;
    const space = line.lastIndexOf(" ");
    samples.set(line.slice(0, space), Number(line.slice(space + 1)));
  }
  return samples;
}

export interface ProcessFigures {
  readonly residentMiB: number;
  readonly openFiles: number;
}

/** As the kernel sees it; undefined for a process that is no more. */
export function figuresOf(pid: number): ProcessFigures | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    const resident = Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? Number.NaN);
    return { residentMiB: resident / 1024, openFiles: readdirSync(`/proc/${pid}/fd`).length };
  } catch {
    return undefined;
  }
}
