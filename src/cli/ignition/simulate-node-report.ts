/** What a simulated machine became, as people read it; contents are not shown. */

import type { Joined } from "../../cluster/nodes/simulate/join.js";
import type { Applied } from "../../cluster/nodes/simulate/simulate.js";

export interface SimulatedReport extends Applied {
  readonly root: string;
  readonly joined?: Joined;
}

export function simulatedText({ directories, files, joined, skipped, links, root, units }: SimulatedReport): string {
  const widest = Math.max(0, ...files.map(({ path }) => path.length));
  return [
    ...files.map(({ bytes, mode, path }) => `  ${path.padEnd(widest)}  ${mode}  ${bytes} bytes\n`),
    `${counted(files.length, "file")}, ${counted(directories, "directory", "directories")}, ${counted(links, "link")} and ${counted(units, "unit")} written below ${root}\n`,
    ...skipped.map(({ names, what }) => `left out: ${what} ${names.join(", ")}\n`),
    joined === undefined ? "" : joinedText(joined),
  ].join("");
}

function joinedText({ certificates, node, server }: Joined): string {
  return [
    ...certificates.map(({ file, request, signer }) => `${request} of ${signer} is in ${file}\n`),
    `Node ${node} is registered at ${server}; remove it with kubectl delete node ${node}\n`,
  ].join("");
}

function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
