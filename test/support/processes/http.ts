import { request } from "node:http";

export interface Answer {
  readonly status: number;
  readonly body: string;
}

/** One plain GET on a connection of its own, so that no idle connection outlives the process under test. */
export function get(port: number, path: string, withinMs = 5_000): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const call = request({ host: "127.0.0.1", port, path, agent: false, timeout: withinMs }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.once("error", reject);
      response.once("end", () =>
        resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString("utf8") }),
      );
    });
    call.once("timeout", () => call.destroy(new Error(`no answer from port ${port}${path} within ${withinMs} ms`)));
    call.once("error", reject);
    call.end();
  });
}

/** One sample of a Prometheus page; `labels` as printed, e.g. `{reason="no_agent"}`. A sample that is not there is 0. */
export async function metric(port: number, name: string, labels = ""): Promise<number> {
  const { body } = await get(port, "/metrics");
  const line = body.split("\n").find((candidate) => candidate.startsWith(`${name}${labels} `));
  return line === undefined ? 0 : Number(line.slice(line.lastIndexOf(" ") + 1));
}

/** All samples of a name that carry these labels (each as printed, e.g. `reason="no_agent"`), added up. */
export async function metricSum(port: number, name: string, ...labels: readonly string[]): Promise<number> {
  const { body } = await get(port, "/metrics");
  let sum = 0;
  for (const line of body.split("\n")) {
    if (!line.startsWith(`${name}{`) || !labels.every((label) => line.includes(label))) continue;
    sum += Number(line.slice(line.lastIndexOf(" ") + 1));
  }
  return sum;
}
