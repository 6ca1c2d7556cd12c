import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { number, table } from "../../bench/results/format.js";
import { equipped } from "../../test/support/lab/equipment.js";
import { writeKubeconfig } from "../../test/support/lab/kubectl.js";
import { Load } from "../../test/support/lab/load.js";
import { startOnLoopback } from "../../test/support/lab/loopback.js";
import { Scope as LabScope } from "../../test/support/lab/scope.js";
import { accessObjects, requestToken, SERVER_USER, writeToken } from "../../test/support/lab/service-account.js";
import { makePki } from "../../test/support/processes/certs.js";
import { waitUntil } from "../../test/support/processes/deadline.js";
import { Scope } from "../../test/support/processes/scope.js";
import { startEcho } from "../../test/support/targets/echo.js";
import type { SoakOptions } from "../options.js";
import { Random } from "../random.js";
import { factLines, factsOf, type RunFacts, verdictText } from "../report/facts.js";
import { Court } from "../watch/court.js";
import { LeasedFleet } from "./fleet.js";

/** Side by side: most of a scaling is waiting. */
const FLEETS = 2;
const CLIENTS = 4;
const SERVERS = { least: 1, most: 4 } as const;
/** The next scaling begins when so many requests have been answered since the last one. */
const REQUESTS_BETWEEN = 8;
/** A balancer's check notices within this that a server is about to end. */
const NOTICED_WITHIN_MS = 200;
const PROGRESS_EVERY_MS = 15_000;

export interface ScalingsReport extends RunFacts {
  /** Servers started, and servers ended, each with all agents knowing of it afterwards. */
  readonly scalings: { readonly up: number; readonly down: number };
  readonly answered: number;
  /** Dials that failed before a byte of their request was sent; each was made again and served. */
  readonly dialledAgain: number;
  readonly longestDialMs: number;
  readonly lost: number;
  readonly hung: number;
  readonly unserved: number;
}

/** Servers come and go, counted by leases, while clients ask without a pause. */
export async function soakScalings(
  options: SoakOptions,
  dir: string,
  say: (line: string) => void,
): Promise<ScalingsReport> {
  process.env.DRAWBRIDGE_REQUIRE_PEERS = "1";
  await equipped({ controlPlane: true });
  const [random, court] = [new Random(options.seed), new Court()];
  const [lab, scope] = [new LabScope("scalings"), new Scope()];
  scope.defer(() => lab.close());
  const scalings = { up: 0, down: 0 };
  const loads: Load[] = [];
  try {
    const plane = await startOnLoopback(lab);
    await plane.admin.apply(...accessObjects);
    const tokenFile = writeToken(lab.file("agent.token"), await requestToken(plane.admin, {}));
    const files = {
      pki: makePki(scope.tempDir()),
      serverKubeconfig: plane.kubeconfig(SERVER_USER),
      agentKubeconfig: writeKubeconfig(lab.file("agent.kubeconfig"), plane.api, { tokenFile }),
    };
    const echo = scope.use(await startEcho());
    let left = options.scalings!;
    const fleets: LeasedFleet[] = [];
    for (let index = 0; index < FLEETS; index++) {
      fleets.push(await LeasedFleet.open(scope, { ...files, index }, 2));
    }
    const play = async (fleet: LeasedFleet, own: Random): Promise<void> => {
      const { port } = fleet.callers;
      const frontend = { transport: "tcp", host: "127.0.0.1", port, certs: files.pki.caller } as const;
      const load = Load.start(() => frontend, echo.address, CLIENTS);
      loads.push(load);
      for (let number = 1; left > 0 && court.first === undefined; number++) {
        left--;
        const step = own.fork(number);
        const before = load.answered;
        await waitUntil("clients to be served", () => load.answered >= before + REQUESTS_BETWEEN, { withinMs: 60_000 });
        const count = fleet.servers.length;
        const up = count === SERVERS.least || (count < SERVERS.most && step.chance(0.5));
        if (up) await fleet.grow();
        else await fleet.shrink(step.whole(0, count - 1), step.between(0, NOTICED_WITHIN_MS));
        scalings[up ? "up" : "down"]++;
        const [failure] = load.failures;
        if (failure !== undefined)
          throw new Error(`${failure} (scaling ${number}, ${up ? "up" : "down"} from ${count})`);
      }
    };
    const timer = setInterval(() => {
      const answered = loads.reduce((sum, load) => sum + load.answered, 0);
      say(
        `${Math.round(court.seconds)} s, ${scalings.up + scalings.down} of ${options.scalings} scalings, ${answered} requests answered`,
      );
    }, PROGRESS_EVERY_MS);
    scope.defer(() => clearInterval(timer));
    const failed = (reason: unknown) => court.violation(reason instanceof Error ? reason.message : String(reason));
    await Promise.race([
      Promise.all(fleets.map((fleet, index) => play(fleet, random.fork(index)))).catch(failed),
      court.violated,
    ]);
    const reports = await Promise.all(loads.map((load) => load.stop()));
    const all = <Key extends "lost" | "hung" | "unserved" | "refusals">(key: Key) =>
      reports.flatMap((each) => each[key]);
    const failures = [...all("lost"), ...all("hung"), ...all("unserved")];
    if (failures.length > 0) court.violation(failures[0]!);
    if (court.first)
      for (const [index, fleet] of fleets.entries()) writeFileSync(join(dir, `fleet-${index}.log`), fleet.logs());
    return {
      ...factsOf(options.seed, { violation: court.first, seconds: court.seconds }),
      scalings,
      answered: reports.reduce((sum, { answered }) => sum + answered, 0),
      dialledAgain: all("refusals").length,
      longestDialMs: Math.max(...reports.map(({ longestDialMs }) => longestDialMs)),
      lost: all("lost").length,
      hung: all("hung").length,
      unserved: all("unserved").length,
    };
  } finally {
    await scope.close();
  }
}

export function scalingsText(report: ScalingsReport): string {
  const { scalings } = report;
  const verdict = verdictText(report, "no request was lost, none hung, each was served.");
  const facts = table(
    ["What", "Figure"],
    [
      ...factLines(report),
      ["servers started", number(scalings.up)],
      ["servers ended", number(scalings.down)],
      ["requests answered", number(report.answered)],
      ["dials refused before a byte was sent, made again", number(report.dialledAgain)],
      ["longest wait for a dial", `${number(report.longestDialMs)} ms`],
      ["requests lost", number(report.lost)],
      ["requests that hung", number(report.hung)],
      ["requests not served within 10 s", number(report.unserved)],
    ],
  );
  return `${verdict}\n\n${facts}\n`;
}
