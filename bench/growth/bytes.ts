/** What a byte costs server and agent, by how many are sent at once. */
import { randomBytes } from "node:crypto";
import { readExactly } from "../../test/support/callers/bytes.js";
import { askFrontend, connectRequest } from "../../test/support/callers/connect.js";
import { startEcho } from "../../test/support/targets/echo.js";
import type { Ground } from "../contenders/ground.js";
import { startPair } from "../contenders/pair.js";
import { drive } from "../load/drive.js";
import { cpuSecondsOf } from "../load/procfs.js";

export interface BytesRow {
  /** Sent at once. */
  readonly bytes: number;
  /** There and back: so many are sent when the last ones have come back. */
  readonly direction: "down" | "up" | "there and back";
  readonly megabytesPerSecond: number;
  readonly cpuSecondsPerGB: number;
}

export const KIB = 1024;
/** The load generator's blocks. */
export const MIB = 1024 * KIB;
const ECHO_SECONDS = 2;
const KIND = { name: "ours/ours", frontend: "connect-uds" } as const;

/** 1 and 32 KiB there and back, then 1 MiB and 32 times as much each time, each way, up to `most` MiB. */
export async function carryBytes(
  most: number,
  ground: Ground,
  problems: string[],
  say: (line: string) => void,
): Promise<BytesRow[]> {
  const rows: BytesRow[] = [];
  for (const size of [KIB, 32 * KIB]) {
    say(`${size / KIB} KiB there and back in one tunnel, again and again`);
    rows.push(await echo(size, ground, problems));
  }
  for (let size = MIB; size <= most * 1.1 * MIB; size *= 32) {
    say(`${size / MIB} MiB through one tunnel, each way`);
    for (const direction of ["down", "up"] as const) rows.push(await carry(size, direction, ground, problems));
  }
  return rows;
}

async function echo(bytes: number, ground: Ground, problems: string[]): Promise<BytesRow> {
  const pair = await startPair(KIND, ground);
  const target = await startEcho();
  try {
    const frontend = { transport: "uds", path: pair.place.udsPath } as const;
    const { socket } = await askFrontend(frontend, connectRequest(target.address));
    const sent = randomBytes(bytes);
    const play = async (seconds: number): Promise<number> => {
      const until = performance.now() + seconds * 1_000;
      let total = 0;
      while (performance.now() < until) {
        socket.write(sent);
        if (!(await readExactly(socket, bytes)).equals(sent)) {
          problems.push(`${bytes} bytes there and back: wrong bytes`);
          break;
        }
        total += 2 * bytes;
      }
      return total;
    };
    await play(ECHO_SECONDS / 4);
    const before = { cpu: cpuSecondsOf(pair.pids), at: performance.now() };
    const total = await play(ECHO_SECONDS);
    const seconds = (performance.now() - before.at) / 1_000;
    const cpu = cpuSecondsOf(pair.pids) - before.cpu;
    socket.destroy();
    return {
      ...{ bytes, direction: "there and back" },
      ...{ megabytesPerSecond: total / 1e6 / seconds, cpuSecondsPerGB: cpu / (total / 1e9) },
    };
  } finally {
    await target.close();
    await pair.close();
  }
}

async function carry(bytes: number, direction: "down" | "up", ground: Ground, problems: string[]): Promise<BytesRow> {
  const pair = await startPair(KIND, ground);
  try {
    await drive(pair.route, `bulk-${direction}`, { warmupSeconds: 0, seconds: 0.5 });
    const before = cpuSecondsOf(pair.pids);
    const { intact, problem, seconds } = await drive(pair.route, `bulk-${direction}`, { bytes, warmupSeconds: 0 });
    if (!intact || problem !== undefined) problems.push(`${bytes} bytes ${direction}: ${problem ?? "wrong bytes"}`);
    const cpu = cpuSecondsOf(pair.pids) - before;
    return { bytes, direction, megabytesPerSecond: bytes / 1e6 / seconds, cpuSecondsPerGB: cpu / (bytes / 1e9) };
  } finally {
    await pair.close();
  }
}
