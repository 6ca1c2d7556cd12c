/** What a bundle is made of, apart from doctor's findings. */
import { readFile } from "node:fs/promises";
import { arch, availableParallelism, freemem, hostname, loadavg, platform, release, totalmem, uptime } from "node:os";
import { basename } from "node:path";
import { tailOf } from "../../base/tail.js";
import type { Dump, FlightSummary, Page } from "../observe/admin/contract.js";
import type { AdminPort } from "../watch/admin-port.js";
import { type BundleFile, type BundlePart, LARGEST_FILE } from "./bundle.js";

const json = (value: unknown): string => `${JSON.stringify(value, null, 1)}\n`;

export function platformPart(version: string): BundlePart {
  return {
    name: "platform",
    async collect() {
      const system = await readFile("/etc/os-release", "utf8").catch(() => "");
      const about = {
        ...{ drawbridge: version, node: process.versions.node, openssl: process.versions.openssl },
        ...{
          platform: platform(),
          release: release(),
          arch: arch(),
          hostname: hostname(),
          time: new Date().toISOString(),
        },
        ...{ cores: availableParallelism(), load: loadavg(), uptimeSeconds: Math.round(uptime()) },
        memoryMiB: { total: Math.round(totalmem() / 2 ** 20), free: Math.round(freemem() / 2 ** 20) },
        system: /^PRETTY_NAME="?([^"\n]*)/m.exec(system)?.[1],
      };
      return [{ path: "platform.json", content: json(about) }];
    },
  };
}

/** The last lines of a log. */
export function logPart(file: string): BundlePart {
  return {
    name: file,
    async collect() {
      const { content, isCut } = await tailOf(file, LARGEST_FILE);
      return [{ path: `logs/${basename(file).replace(/(\.log)?$/, ".log")}`, content, isCut }];
    },
  };
}

export function configPart(file: string): BundlePart {
  return {
    name: file,
    async collect() {
      const { content, isCut } = await tailOf(file, LARGEST_FILE);
      if (isCut) throw new Error("it is too large for a configuration");
      return [{ path: `config/${basename(file)}`, content }];
    },
  };
}

/** One process by its admin port. Each of these may be missing where another is not. */
export function adminParts(port: AdminPort): BundlePart[] {
  const folder = `admin/${port.address.replace(/[^\w.-]+/g, "_")}`;
  return [
    {
      name: `dump of ${port.address}`,
      collect: async () => [dumpPiece(`${folder}/dump.json`, await port.get<Dump>("dump"))],
    },
    {
      name: `metrics of ${port.address}`,
      collect: async () => [{ path: `${folder}/metrics.txt`, content: await port.text("/metrics") }],
    },
    { name: `flight recorder of ${port.address}`, collect: () => flights(port, folder) },
  ];
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
