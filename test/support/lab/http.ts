import { must } from "./run.js";

export interface Answer {
  readonly status: number;
  readonly body: string;
}

/** A plain GET from inside a namespace: health, readiness and metrics listen where the test process is not. */
export async function get(url: string, netns?: string): Promise<Answer> {
  const output = await must(["curl", "-s", "--max-time", "5", "-w", "\n%{http_code}", url], { netns });
  const end = output.lastIndexOf("\n");
  return { status: Number(output.slice(end + 1)), body: output.slice(0, end) };
}
