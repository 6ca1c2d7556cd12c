/** CPU of server and agent for one piece of each kind of work, in a pair that does nothing else. */
import type { Ground } from "../contenders/ground.js";
import { startPair } from "../contenders/pair.js";
import { type DriveResult, drive } from "../load/drive.js";
import { cpuSeconds } from "../load/procfs.js";
import { spread } from "../results/statistics.js";

/** Seconds of CPU. */
export interface Roles {
  readonly server: number;
  readonly agent: number;
}

export interface Costs {
  readonly gigabyteDown: Roles;
  readonly gigabyteUp: Roles;
  /** 1 KB there and back, 64 tunnels at once. */
  readonly request: Roles;
  /** Opened, one byte there and back, closed; 32 at once. */
  readonly newTunnel: Roles;
}

const ROUNDS = 3;
const SECONDS = 2;
const WARM_UP_SECONDS = 1;

const gigabytes = ({ bytesTotal = 0 }: DriveResult): number => bytesTotal / 1e9;
const requests = ({ requestsTotal = 0 }: DriveResult): number => requestsTotal;

const WORK = {
  gigabyteDown: { scenario: "bulk-down", tunnels: 8, pieces: gigabytes },
  gigabyteUp: { scenario: "bulk-up", tunnels: 8, pieces: gigabytes },
  request: { scenario: "ping-pong", tunnels: 64, pieces: requests },
  newTunnel: { scenario: "new-tunnels", tunnels: 32, pieces: requests },
} as const satisfies Record<keyof Costs, unknown>;

/** Medians of some rounds. */
export async function measureCosts(ground: Ground, problems: string[]): Promise<Costs> {
  const pair = await startPair({ name: "ours/ours", frontend: "connect-uds" }, ground);
  const used = (): Roles => ({ server: cpuSeconds(pair.server!), agent: cpuSeconds(pair.agent!) });
  const measure = async ({ scenario, tunnels, pieces }: (typeof WORK)[keyof Costs]): Promise<Roles> => {
    const before = used();
    const result = await drive(pair.route, scenario, { tunnels, warmupSeconds: 0, seconds: SECONDS });
    const after = used();
    if (!result.intact || result.problem !== undefined)
      problems.push(`${scenario}: ${result.problem ?? "wrong bytes"}`);
    const each = (role: keyof Roles) => (after[role] - before[role]) / pieces(result);
    return { server: each("server"), agent: each("agent") };
  };
  const rounds: Costs[] = [];
  try {
    for (const { scenario, tunnels } of Object.values(WORK)) {
      await drive(pair.route, scenario, { tunnels, warmupSeconds: 0, seconds: WARM_UP_SECONDS });
    }
    for (let round = 0; round < ROUNDS; round++) {
      rounds.push({
        gigabyteDown: await measure(WORK.gigabyteDown),
        gigabyteUp: await measure(WORK.gigabyteUp),
        request: await measure(WORK.request),
        newTunnel: await measure(WORK.newTunnel),
      });
    }
  } finally {
    await pair.close();
  }
  const middle = (work: keyof Costs, role: keyof Roles) => spread(rounds.map((each) => each[work][role]))!.median;
  const medians = (work: keyof Costs): Roles => ({ server: middle(work, "server"), agent: middle(work, "agent") });
  return {
    gigabyteDown: medians("gigabyteDown"),
    gigabyteUp: medians("gigabyteUp"),
    request: medians("request"),
    newTunnel: medians("newTunnel"),
  };
}
