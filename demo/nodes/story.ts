/** From a pool on paper to two nodes with certificates: of a real API server where there is one, else with nothing but Node. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { messageOf } from "../../src/base/errors/error.js";
import { Interruption } from "../interruption.js";
import type { Options } from "../options.js";
import { Processes } from "../processes/processes.js";
import { canTieToParent } from "../processes/tie.js";
import { painter } from "../report/paint.js";
import { Recorder } from "../report/recorder.js";
import { hasPassed, summaryJson, summaryText, type Verdict } from "../report/summary.js";
import { type Cluster, lackOfCluster } from "./cluster.js";
import { NodesFixture } from "./fixture.js";
import { StandInCluster } from "./stand-in.js";
import { bootMachines, bootTooEarly, forge, makePool, makeWorkers, serve, startCluster, tidyUp } from "./steps.js";
import { NODES_TITLES } from "./titles.js";

const REAL = "real etcd, kube-apiserver and signer on loopback; the machines are played";
const DIRECTORY = "a directory of YAML objects instead of a cluster; a stand-in signs requests";

/** Ends the process: after an interruption a step may still be waiting. */
export async function playNodes({ caller, output }: Options): Promise<never> {
  // With JSON on stdout the audience reads stderr.
  const screen = output === "json" ? process.stderr : process.stdout;
  const begin = performance.now();
  const folder = mkdtempSync(join(tmpdir(), "drawbridge-demo-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const processes = new Processes(folder, canTieToParent());
  const interruption = new Interruption();
  /** An interrupted step fails because its props are taken away: that is not worth telling. Nor is the folder. */
  const tell = (line: string) => {
    if (!interruption.happened) screen.write(`${line.replaceAll(`${folder}/`, "")}\n`);
  };
  const recorder = new Recorder(NODES_TITLES, tell, painter(screen), processes.lost);
  tell("drawbridge demo: machines become nodes of a pool, only the right ones");
  const lack = caller === "stand-in" ? "--caller stand-in" : lackOfCluster();
  const means = lack === undefined ? REAL : DIRECTORY;
  tell(`isolation: simulated (${means})`);
  if (lack !== undefined) tell(`no real API server: ${lack}`);
  const makeCluster = lack === undefined ? startRealCluster : () => startStandIn(folder);
  let cluster: Promise<Cluster> | undefined;
  const start = () => {
    cluster = makeCluster();
    return cluster;
  };
  try {
    await interruption.race(play(recorder, folder, processes, start));
  } catch (reason) {
    const failed = recorder.records.some(({ result }) => result === "failed");
    if (!failed) tell(`the demo failed: ${messageOf(reason)}`);
    for (const running of processes.all) tell(`\nlast lines of ${running.name}:\n${running.tail(6)}`);
    await processes.close();
    // One that could not be started has removed itself.
    await (await cluster?.catch(() => undefined))?.close();
    screen.write("\neverything the demo had started was ended and removed\n");
  }
  if (interruption.happened) {
    screen.write("the demo was interrupted\n");
    process.exit(interruption.exitCode);
  }
  const { records } = recorder;
  const seconds = (performance.now() - begin) / 1000;
  const verdict: Verdict = { isolation: "simulated", means, caller: await callerOf(cluster), seconds };
  if (output === "json") process.stdout.write(summaryJson(records, verdict));
  screen.write(summaryText(records, verdict, screen.columns ?? 120, painter(screen)));
  process.exit(hasPassed(records) ? 0 : 1);
}

async function play(
  recorder: Recorder<keyof typeof NODES_TITLES>,
  folder: string,
  processes: Processes,
  start: () => Promise<Cluster>,
): Promise<void> {
  const cluster = await recorder.step("cluster", 60, (show) => startCluster(start, show));
  const fixture = await NodesFixture.gather(folder, processes, cluster);
  await recorder.step("pool", 20, (show) => makePool(fixture, show));
  await recorder.step("workers", 15, (show) => makeWorkers(fixture, show));
  const early = await recorder.step("early", 15, (show) => bootTooEarly(fixture, show));
  await recorder.step("serving", 40, (show) => serve(fixture, early, show));
  await recorder.step("joining", 30, (show) => bootMachines(fixture, show));
  await recorder.step("forged", 15, (show) => forge(fixture, show));
  await recorder.step("tidyUp", 15, (show) => tidyUp(fixture, processes, show));
}

async function startRealCluster(): Promise<Cluster> {
  return (await import("./real.js")).RealCluster.start();
}

function startStandIn(folder: string): Promise<Cluster> {
  const directory = join(folder, "objects");
  mkdirSync(directory);
  return StandInCluster.start(directory);
}

async function callerOf(cluster: Promise<Cluster> | undefined): Promise<string> {
  const version = (await cluster?.catch(() => undefined))?.version;
  return `two simulated nodes${version === undefined ? "" : `, kube-apiserver ${version}`}`;
}
