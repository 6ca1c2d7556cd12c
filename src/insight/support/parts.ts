/** What a bundle is made of. */
import { readFile } from "node:fs/promises";
import { arch, availableParallelism, freemem, hostname, loadavg, platform, release, totalmem, uptime } from "node:os";
import { basename } from "node:path";
import { tailOf } from "../../base/tail.js";
import { safeJson } from "../../base/text.js";
import { diagnose, diagnosisText } from "../diagnosis/doctor.js";
import { doctorHost, processFile, readAs } from "../diagnosis/host/this-host.js";
import type { DoctorSettings } from "../diagnosis/place.js";
import { PROGRAMS, programs } from "../diagnosis/programs.js";
import { findingsJson } from "../diagnosis/report.js";
import type { Dump, FlightSummary, Page } from "../observe/admin/contract.js";
import type { AdminPort } from "../watch/admin-port.js";
import { type BundleFile, type BundlePart, LARGEST_FILE } from "./bundle.js";

const json = (value: unknown): string => `${JSON.stringify(value, null, 1)}\n`;
const inMiB = (bytes: number): number => Math.round(bytes / 2 ** 20);

export const platformPart = (version: string): BundlePart => ({
  name: "platform",
  async collect() {
    const system = await readFile("/etc/os-release", "utf8").catch(() => "");
    const about = {
      ...{ drawbridge: version, node: process.versions.node, openssl: process.versions.openssl },
      ...{ platform: platform(), release: release(), arch: arch(), hostname: hostname() },
      ...{ time: new Date().toISOString(), cores: availableParallelism(), load: loadavg() },
      uptimeSeconds: Math.round(uptime()),
      memoryMiB: { total: inMiB(totalmem()), free: inMiB(freemem()) },
      system: /^PRETTY_NAME="?([^"\n]*)/m.exec(system)?.[1],
    };
    return [{ path: "platform.json", content: json(about) }];
  },
});

export const doctorPart = (settings: DoctorSettings): BundlePart => ({
  name: "doctor",
  async collect() {
    const diagnosis = await diagnose(settings);
    const { role, findings } = diagnosis;
    return [
      { path: "doctor.json", content: `${safeJson(findingsJson({ role }, findings), 2)}\n` },
      { path: "doctor.txt", content: diagnosisText(diagnosis) },
    ];
  },
});

async function runningPrograms() {
  const host = doctorHost();
  const found = await Promise.all(programs.map(async (kind) => ({ kind, running: await host.running(kind) })));
  return found.flatMap(({ kind, running }) => (running === undefined ? [] : [{ kind, running }]));
}

/** One line for each process, as text: JSON would be broken by what is taken out of a command line. */
export const processesPart: BundlePart = {
  name: "processes",
  async collect() {
    const lines = (await runningPrograms()).map(
      ({ kind, running: { source, words } }) => `${PROGRAMS[kind].title}, ${source}: ${words.join(" ")}\n`,
    );
    return lines.length === 0 ? [] : [{ path: "processes.txt", content: lines.join("") }];
  },
};

/** The admin tokens of the processes that run here: logs and configurations must not give them away. */
export async function tokensInUse(): Promise<string[]> {
  const tokens = (await runningPrograms()).map(async ({ running: { flags, pid } }) => {
    const file = flags.get("admin-token-file");
    return file && readAs(pid, processFile(pid, file)).catch(() => undefined);
  });
  return (await Promise.all(tokens)).flatMap((token) => token || []);
}

/** The last lines of a log. */
export const logPart = (file: string): BundlePart => ({
  name: file,
  async collect() {
    return [{ path: `logs/${basename(file).replace(/(\.log)?$/, ".log")}`, ...(await tailOf(file, LARGEST_FILE)) }];
  },
});

export const configPart = (file: string): BundlePart => ({
  name: file,
  async collect() {
    const { content, isCut } = await tailOf(file, LARGEST_FILE);
    if (isCut) throw new Error("it is too large for a configuration");
    return [{ path: `config/${basename(file)}`, content }];
  },
});

/** One process by its admin port. Each of these may be missing where another is not. */
export function adminParts(port: AdminPort): BundlePart[] {
  const folder = `admin/${port.address.replace(/[^\w.-]+/g, "_")}`;
  const parts: Readonly<Record<string, BundlePart["collect"]>> = {
    dump: async () => [dumpPiece(`${folder}/dump.json`, await port.get<Dump>("dump"))],
    metrics: async () => [{ path: `${folder}/metrics.txt`, content: await port.text("/metrics") }],
    "flight recorder": () => flights(port, folder),
  };
  return Object.entries(parts).map(([what, collect]) => ({ name: `${what} of ${port.address}`, collect }));
}

/** A list that is cut in two is no JSON: rather fewer tunnels. */
export function dumpPiece(path: string, dump: Dump, most = LARGEST_FILE): BundleFile {
  let [tunnels, ended] = [dump.tunnels.length, dump.ended.length];
  for (;;) {
    const leftOut = { tunnels: dump.tunnels.length - tunnels, ended: dump.ended.length - ended };
    const isCut = leftOut.tunnels + leftOut.ended > 0;
    const shorter = { ...dump, tunnels: dump.tunnels.slice(0, tunnels), ended: dump.ended.slice(0, ended) };
    const content = json(isCut ? { ...shorter, leftOut } : shorter);
    if (content.length <= most || tunnels + ended === 0) return { path, content, isCut };
    [tunnels, ended] = [Math.floor(tunnels / 2), Math.floor(ended / 2)];
  }
}

const MOST_FLIGHTS = 50;

/** Roles without links have none, nor have older versions: that is nothing to complain of. */
async function* flights(port: AdminPort, folder: string): AsyncGenerator<BundleFile> {
  const links = await port.find<Page<FlightSummary>>("flight");
  if (links === undefined) return;
  yield { path: `${folder}/flight/links.json`, content: json(links), isCut: links.items.length > MOST_FLIGHTS };
  for (const { key } of links.items.slice(0, MOST_FLIGHTS)) {
    yield { path: `${folder}/flight/${key}.txt`, content: await port.text(`flight/${key}?format=text`) };
  }
}
