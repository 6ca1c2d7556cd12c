import { waitUntil } from "../../test/support/processes/deadline.js";
import { untilLinksStand } from "../faults/recovery.js";
import type { Fixture } from "../fixture/fixture.js";
import { figuresOf } from "../fixture/look.js";
import { sleep } from "../load/end.js";
import type { Hub } from "../load/hub.js";
import type { LongTunnels } from "../load/long-tunnels.js";
import type { Runner } from "../load/runner.js";
import { short } from "../load/scenarios/talking.js";
import type { Random } from "../random.js";
import { countTunnels } from "./counts.js";

export interface ProcessRow {
  readonly name: string;
  readonly pid: number;
  readonly residentMiB: number;
  readonly openFiles: number;
  readonly tunnels: number;
}

export interface CensusRow {
  readonly seconds: number;
  readonly processes: readonly ProcessRow[];
}

const BACK_WITHIN_MS = 45_000;
const ANSWER_WITHIN_MS = 25_000;
/** A closed tunnel's socket may linger for ten seconds. */
const COUNTS_WITHIN_MS = 25_000;
const PROBES_PER_DOOR = 4;
/** Time for garbage to be collected and for sockets to be closed. */
const REST_MS = 1_500;

export interface CensusOptions {
  readonly fixture: Fixture;
  readonly hub: Hub;
  readonly runner: Runner;
  readonly longTunnels: LongTunnels;
  readonly random: Random;
}

/** In a calm without faults: everything serves, everything is accounted for. Rejects with a sentence. */
export async function takeCensus({ fixture, hub, runner, longTunnels, random }: CensusOptions): Promise<CensusRow> {
  await untilLinksStand(fixture, {}, BACK_WITHIN_MS);
  longTunnels.ask();
  await waitUntil("every long tunnel to answer", () => longTunnels.silent.length === 0, {
    withinMs: ANSWER_WITHIN_MS,
    context: () => `; silent: ${longTunnels.silent.join(", ")}`,
  });
  await everyDoorServes(fixture, runner, random);
  return await account(fixture, hub, longTunnels, runner.ground.court.seconds);
}

async function everyDoorServes(fixture: Fixture, runner: Runner, random: Random): Promise<void> {
  for (const { index: server } of fixture.servers) {
    for (const frontend of fixture.frontends.kinds) {
      const probes = Array.from({ length: PROBES_PER_DOOR }, (_, probe) =>
        runner.run("probe", { server, frontend }, random.fork(`${server} ${frontend} ${probe}`), short),
      );
      if ((await Promise.all(probes)).includes(false)) {
        throw new Error(
          `the ${frontend} frontend of server ${server + 1} does not serve again although no fault is left`,
        );
      }
    }
  }
}

/** Figures agree with what is really open; also what each process weighs. */
export async function account(
  fixture: Pick<Fixture, "servers" | "agents" | "daemons">,
  hub: Hub,
  longTunnels: Pick<LongTunnels, "size" | "count">,
  seconds: number,
): Promise<CensusRow> {
  let mismatches: readonly string[] = [];
  const agree = async () => {
    const counts = await countTunnels(fixture, hub, longTunnels);
    mismatches = counts.mismatches;
    return mismatches.length === 0;
  };
  await waitUntil("the counts of open tunnels to be right", agree, {
    withinMs: COUNTS_WITHIN_MS,
    context: () => `: ${mismatches.join("; ")}`,
  });
  await sleep(REST_MS);
  const { tunnels } = await countTunnels(fixture, hub, longTunnels);
  const processes = fixture.daemons.map(({ name, pid }, index) => {
    const figures = figuresOf(pid) ?? { residentMiB: Number.NaN, openFiles: Number.NaN };
    return { name, pid, ...figures, tunnels: tunnels[index]! };
  });
  return { seconds, processes };
}
