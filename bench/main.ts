/** `npm run bench`: see options.ts for its flags. */
import { onPath } from "../peers/index.js";
import { writeSection } from "../test/support/command/docs-section.js";
import { runCommand, say } from "../test/support/command/run.js";
import { equipped } from "../test/support/lab/equipment.js";
import { peersAvailable } from "../test/support/processes/executables.js";
import { DATA_CENTRE, DATA_CENTRE_ABOUT, fillDataCentre } from "./data-centre.js";
import { growthText } from "./growth/report.js";
import { measureGrowth } from "./growth/run.js";
import { loadgen } from "./load/loadgen.js";
import { type ManyNodes, manyNodesText } from "./nodes/report.js";
import { playManyNodes } from "./nodes/run.js";
import { raiseOpenFiles } from "./open-files.js";
import { type BenchOptions, HELP, parseOptions } from "./options.js";
import { comparePeers, peerRows } from "./peers/compare.js";
import { allTunnels } from "./peers/tunnels/index.js";
import { measuredLine } from "./progress.js";
import { quietMachine } from "./quiet.js";
import { fromJson, toJson } from "./results/json.js";
import { markdown } from "./results/markdown.js";
import { type BenchRun, makeRun } from "./results/run.js";
import { verdictsOf } from "./results/verdicts.js";
import { writeRun } from "./results/write.js";
import { playRounds } from "./rounds.js";
import { allRows, chooseRows } from "./rows/index.js";
import { smoke } from "./smoke.js";

await runCommand("bench", () => main(parseOptions(process.argv.slice(2))));

async function main(options: BenchOptions | "help" | "list"): Promise<number> {
  if (options === "help") process.stdout.write(HELP);
  else if (options === "list") {
    for (const { name, about } of [...allRows, { name: DATA_CENTRE, about: DATA_CENTRE_ABOUT }]) {
      process.stdout.write(`${name.padEnd(22)}${about}\n`);
    }
    process.stdout.write(`\nWith --peers, for ${allTunnels.map(({ name }) => name).join(", ")}:\n`);
    for (const { name, about } of peerRows) process.stdout.write(`${name.padEnd(22)}${about}\n`);
  } else if (options.smoke) return await smoke(say);
  else if (options.nodes.length > 0) return await manyNodes(options);
  else if (options.growth !== undefined) return await growth(options.growth, options);
  else return options.peers ? await comparePeers(options, say) : await bench(options);
  return 0;
}

async function manyNodes({ nodes, output, force }: BenchOptions): Promise<number> {
  process.env.DRAWBRIDGE_REQUIRE_PEERS = "1";
  await equipped({ controlPlane: true, controllers: true });
  const complaint = raiseOpenFiles();
  if (complaint !== undefined) say(complaint);
  const machine = await quietMachine(force, say);
  const runs: ManyNodes[] = [];
  for (const count of nodes) runs.push(await playManyNodes(count, (line) => say(`[${count}] ${line}`)));
  process.stdout.write(output === "json" ? `${JSON.stringify(runs, null, 2)}\n` : manyNodesText(machine, runs));
  return runs.every(({ errors }) => errors.length === 0) ? 0 : 1;
}

async function growth(most: number, { output, force, write }: BenchOptions): Promise<number> {
  loadgen();
  const complaint = raiseOpenFiles(1.2 * most);
  if (complaint !== undefined) say(complaint);
  const report = await measureGrowth(most, await quietMachine(force, say), say);
  process.stdout.write(output === "json" ? `${JSON.stringify(report, null, 2)}\n` : growthText(report));
  if (write && report.problems.length > 0) say("docs/speed.md is left as it was: not all was in order.");
  else if (write) {
    const section = { page: "speed.md", name: "growth", command: "npm run bench -- --growth --write" };
    writeSection(section, growthText(report));
    say("written: docs/speed.md");
  }
  return report.problems.length === 0 ? 0 : 1;
}

async function bench(options: BenchOptions): Promise<number> {
  const names = options.rows.filter((name) => name !== DATA_CENTRE);
  const wantsDataCentre = options.rows.length === 0 || names.length < options.rows.length;
  const rows = names.length === 0 && options.rows.length > 0 ? [] : chooseRows(names);
  loadgen();
  if (!peersAvailable("proxy-server", "proxy-agent")) {
    throw new Error(
      "upstream's server and agent are needed to compare with: run npm run peers -- proxy-server proxy-agent.",
    );
  }
  if (rows.some(({ contenders }) => contenders.includes("HAProxy")) && onPath("haproxy") === undefined) {
    throw new Error("haproxy is needed to compare with: install the Debian package haproxy, or choose --rows.");
  }
  const complaint = raiseOpenFiles();
  if (complaint !== undefined) say(complaint);
  const machine = await quietMachine(options.force, say);
  const runs = rows.reduce((sum, row) => sum + row.contenders.length * (row.once ? 1 : options.rounds), 0);
  say(`${rows.length} rows, ${options.rounds} rounds, ${runs} runs of ${options.seconds} s and more`);

  const date = new Date().toISOString().slice(0, 10);
  const began = performance.now();
  const measured = await playRounds({
    rows,
    rounds: options.rounds,
    seconds: options.seconds,
    onMeasured: (step) => say(measuredLine(options.rounds, step)),
  });
  if (wantsDataCentre) say(DATA_CENTRE_ABOUT);
  const dataCentre = wantsDataCentre ? await fillDataCentre() : undefined;
  const minutes = (performance.now() - began) / 60_000;
  const facts = { date, machine, rounds: options.rounds, seconds: options.seconds, minutes };
  // What is shown is what the file can be read back as.
  const run = fromJson<BenchRun>(toJson(makeRun({ ...facts, ...(dataCentre && { dataCentre }) }, measured)));
  process.stdout.write(options.output === "json" ? jsonOf(run) : markdown([run], allRows));
  if (options.write) {
    writeRun(run, options.rows.length === 0);
    say("written: docs/benchmarks.md, docs/benchmarks.json, README.md");
  }
  return run.incidents.some(({ binding }) => binding) || dataCentre?.intact === false ? 1 : 0;
}

/** With the verdicts, which the file in docs/ leaves to whoever writes the page. */
function jsonOf(run: BenchRun): string {
  const bars = verdictsOf(run, allRows).map(({ row, bar, got, met, reached }) => ({
    ...{ row: row.name, ...bar, got: got ?? null, met },
    ...(reached !== undefined && { reached }),
  }));
  return toJson({ ...run, bars });
}
