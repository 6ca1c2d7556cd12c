import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { CertFiles } from "../../test/support/processes/certs.js";
import { loadgen } from "./loadgen.js";

/** How the driver gets to the target. */
export interface Route {
  readonly frontend: "direct" | "connect-uds" | "connect-tcp" | "grpc-uds";
  readonly address: string;
  readonly target: string;
  readonly certs?: CertFiles;
}

export type Scenario =
  | "bulk-down"
  | "bulk-up"
  | "ping-pong"
  | "new-tunnels"
  | "hold"
  | "stalled-reader"
  | "stalled-endpoint"
  | "beside-bulk";

export interface DriveOptions {
  readonly tunnels?: number;
  readonly warmupSeconds?: number;
  readonly seconds?: number;
  /** Bulk: so many bytes a tunnel instead of a time. */
  readonly bytes?: number;
}

export interface Latency {
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
}

/** What peers/loadgen prints, see result in drive.go. */
export interface DriveResult {
  readonly intact: boolean;
  readonly problem?: string;
  readonly seconds: number;
  readonly bytesTotal?: number;
  readonly bytesPerSecond?: number;
  readonly slowestTunnelShare?: number;
  readonly requestsTotal?: number;
  readonly requestsPerSecond?: number;
  readonly latencyMicros?: Latency;
  readonly quietMicros?: Latency;
  readonly longestPauseMicros?: number;
  readonly frozen?: boolean;
  readonly servesAgain?: boolean;
  readonly againAfterSeconds?: number;
  readonly cpuSeconds: number;
}

/** No run is meant to take longer; one that does hangs and is ended. */
const LONGEST_RUN_MS = 90_000;

export async function drive(route: Route, scenario: Scenario, options: DriveOptions = {}): Promise<DriveResult> {
  const { child, lines } = launch(route, scenario, options);
  child.stdin?.end();
  return (await lines.next(LONGEST_RUN_MS)) as DriveResult;
}

export interface Held {
  /** How long opening and proving all of them took. */
  readonly seconds: number;
  /** Proves each once more, closes all. */
  release(): Promise<DriveResult>;
}

/** Opens tunnels that stay idle until they are released. */
export async function holdTunnels(route: Route, tunnels: number): Promise<Held> {
  const { child, lines } = launch(route, "hold", { tunnels });
  const first = (await lines.next(LONGEST_RUN_MS)) as { holding?: number; seconds: number; problem?: string };
  if (first.holding !== tunnels) throw new Error(`${tunnels} tunnels cannot be held: ${first.problem}`);
  return {
    seconds: first.seconds,
    async release() {
      child.stdin?.end();
      return (await lines.next(LONGEST_RUN_MS)) as DriveResult;
    },
  };
}

function launch(route: Route, scenario: Scenario, options: DriveOptions): { child: ChildProcess; lines: JsonLines } {
  const { tunnels = 1, warmupSeconds = 0.5, seconds = 2, bytes = 0 } = options;
  const args = ["drive", `--frontend=${route.frontend}`, `--address=${route.address}`, `--target=${route.target}`];
  args.push(`--scenario=${scenario}`, `--tunnels=${tunnels}`, `--bytes=${bytes}`);
  args.push(`--warmup=${warmupSeconds}s`, `--window=${seconds}s`);
  if (route.certs) args.push(`--cert=${route.certs.cert}`, `--key=${route.certs.key}`, `--ca=${route.certs.ca}`);
  const child = spawn(loadgen(), args, { stdio: ["pipe", "pipe", "pipe"] });
  child.stdin.on("error", () => {});
  return { child, lines: new JsonLines(child) };
}

/** The driver's standard output, one object a line; its end, or silence for too long, is an error with what it said. */
class JsonLines {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  #complaint = "";

  constructor(child: ChildProcess) {
    this.#child = child;
    this.#lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]();
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#complaint = (this.#complaint + text).slice(-2_000);
    });
  }

  async next(withinMs: number): Promise<unknown> {
    const late = setTimeout(() => this.#child.kill("SIGKILL"), withinMs);
    const line = await this.#lines.next();
    clearTimeout(late);
    if (line.done) throw new Error(`the load generator ended without a result: ${this.#complaint.trim()}`);
    return JSON.parse(line.value);
  }
}
