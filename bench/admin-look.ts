/**
 * What a reader of the admin API's events costs a server: one look at all its tunnels, as it is taken twice a second. A
 * real server with an agent, whose tunnels have sockets that lead nowhere: that bytes move is for other rows to measure.
 * By hand: `npx tsx bench/admin-look.ts [tunnels...]`; 1000 and 10000 by default.
 */
import { Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { Differ } from "../src/insight/observe/admin/changes.js";
import { AdminModel } from "../src/insight/observe/admin/model.js";
import { eventFrame } from "../src/insight/observe/admin/readers.js";
import { ObservedServer } from "../src/insight/observe/roles/server.js";
import { SocketPort } from "../src/tunnel/connection/socket-port.js";
import { openFixture } from "../test/processes/fixture/fixture.js";
import { type Spread, spread } from "./results/statistics.js";

/** Before what is counted, so that the compiler has seen it all. */
const WARM_UP = 200;

export interface LookCosts {
  /** Milliseconds of a whole look when no tunnel has moved. */
  readonly still: Spread;
  /** The same when all of them have; what is sent to readers is part of it. */
  readonly busy: Spread;
  /** Of a busy look, the longest time that nothing else had its turn. */
  readonly longestTurn: Spread;
  /** Rows in one change, of so many that moved. */
  readonly rows: number;
}

export async function measureLooks(tunnels: number, looks: number, warmUp = WARM_UP): Promise<LookCosts> {
  const fixture = await openFixture();
  try {
    const { board } = fixture.server;
    const [link] = board.registry.links();
    if (link === undefined) throw new Error("the fixture has no agent");
    const now = board.runtime.now();
    const times = { askedAt: now, dialledAt: now, openedAt: now };
    const held = Array.from({ length: tunnels }, (_, index) => {
      const info = { id: index + 1, address: `10.0.${index >> 8}.${index & 255}:443`, frontend: "grpc" as const };
      return link.tunnels.add(index + 1, new SocketPort(new Socket(), board.runtime), { ...info, ...times });
    });
    const subject = new ObservedServer(fixture.server);
    const model = new AdminModel({ source: fixture.server, version: "0.0.0", subject });
    const differ = new Differ(model);
    // From here on all of them are known.
    look(differ);
    const costs = { still: [] as number[], busy: [] as number[], longestTurn: [] as number[] };
    let rows = 0;
    for (let round = -warmUp; round < looks; round++) {
      const still = look(differ);
      for (const tunnel of held) tunnel.bytesToFar += 100;
      link.tunnels.traffic.toFar += 100 * held.length;
      const busy = look(differ);
      rows = Math.max(rows, busy.rows);
      if (round < 0) continue;
      costs.still.push(still.ms);
      costs.busy.push(busy.ms);
      costs.longestTurn.push(busy.longestTurnMs);
    }
    model.close();
    return {
      ...{ still: spread(costs.still)!, busy: spread(costs.busy)!, longestTurn: spread(costs.longestTurn)! },
      rows,
    };
  } finally {
    await fixture.close();
  }
}

interface Look {
  readonly ms: number;
  readonly longestTurnMs: number;
  readonly rows: number;
}

/** Step by step, as the readers' timer takes it. */
function look(differ: Differ): Look {
  const looking = differ.look();
  let [ms, longestTurnMs, rows] = [0, 0, 0];
  for (;;) {
    const began = performance.now();
    const { done, value: change } = looking.next();
    if (change) eventFrame("change", change);
    const took = performance.now() - began;
    ms += took;
    longestTurnMs = Math.max(longestTurnMs, took);
    if (change) rows += change.tunnels?.changed.length ?? 0;
    if (done === true) return { ms, longestTurnMs, rows };
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const asked = process.argv.slice(2).map(Number);
  for (const tunnels of asked.length === 0 ? [1_000, 10_000] : asked) {
    const { still, busy, longestTurn, rows } = await measureLooks(tunnels, 500);
    const text = ({ median, most }: Spread) => `${median.toFixed(2)} ms (at most ${most.toFixed(2)})`;
    process.stdout.write(
      `${tunnels} tunnels, median of 500 looks: ${text(still)} while nothing moves; ${text(busy)} when all have moved,` +
        ` with ${rows} rows made and sent, ${text(longestTurn)} of it in one turn\n`,
    );
  }
}
