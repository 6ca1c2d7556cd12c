/** `drawbridge simulate-node`: simulates on this host what a machine does with its user data. */

import { readFile } from "node:fs/promises";
import { DrawbridgeError } from "../../base/errors/error.js";
import type { FetchAttempt } from "../../cluster/nodes/simulate/fetcher.js";
import { type Joined, joinCluster } from "../../cluster/nodes/simulate/join.js";
import { type Simulated, simulateBoot } from "../../cluster/nodes/simulate/simulate.js";
import { duration, filePath, list, required, text, type Values, yesNo } from "../flags/flag.js";
import { refused } from "../flags/parse.js";
import { defineCommand, onlyWord } from "../framework/define.js";
import { note } from "../framework/output.js";
import { readConfigInput } from "./payloads.js";

const simulateFlags = {
  root: required(filePath("New or empty directory for the machine's disk."), "where should the machine's files go?"),
  timeout: duration("2m", "How long each fetch and each certificate is waited for.", { least: 1 }),
  csr: yesNo("Also become a node, as far as certificates go."),
  name: text("Name of the node. If empty, what the payload writes to /etc/hostname."),
  address: list("Address of the node, for its serving certificate; repeatable."),
};

type SimulateFlags = Values<typeof simulateFlags>;

export default defineCommand({
  purpose: `Simulates a machine's first boot with a user-data file (- is standard input): fetches what it refers to with its headers,
authorities and proxy, asks again as Ignition does (511 and every other status from 500 on, and every network error;
401, 404 and the like end it), checks hashes, merges, and writes files, links and units below --root, never outside.

Users, owners, disks and kernel arguments are left out and listed. A fetch is a fetch: an Ignition server counts this host
as a machine of the pool.

With --csr it goes on as the kubelet would: with the bootstrap kubeconfig of the payload it asks for a client certificate,
registers a Node (unschedulable) and asks for a serving certificate; both are written below --root. Remove the Node with
kubectl delete node NAME afterwards.`,
  words: "FILE",
  examples: ["drawbridge simulate-node workers/demo-0.ign --root /tmp/demo-0"],
  flags: simulateFlags,
  async run(flags, { words }) {
    const { address, csr, name, root, timeout: timeoutMs } = flags;
    const file = onlyWord(words, "the user-data file");
    if (!csr && (name !== "" || address.length > 0)) throw refused("--name and --address need --csr");
    const userData = (await readConfigInput(file)).toString();
    const booted = await simulateBoot({ userData, root, timeoutMs, onAttempt });
    const joined = csr ? await join(flags, booted) : undefined;
    const { tree, ...applied } = booted;
    return { root: tree.root, ...applied, ...(joined && { joined }) };
  },
  show: simulatedText,
});

async function join({ address: addresses, name: given, timeout: timeoutMs }: SimulateFlags, { tree }: Simulated) {
  const hostname = await tree.file("/etc/hostname");
  const written = hostname === undefined ? "" : await readFile(hostname, "utf8");
  // A kubelet does the same with its host's name.
  const name = given || written.trim().toLowerCase();
  if (name === "") {
    throw new DrawbridgeError("DB_SIMULATE_JOIN", "the payload gives the machine no name; give one with --name");
  }
  return joinCluster({ tree, name, addresses, timeoutMs, onStep: (sentence) => note(`${sentence}\n`) });
}

function onAttempt({ againInMs, attempt, result, status, url }: FetchAttempt): void {
  const answer = status === undefined ? result : `${status}, ${result}`;
  const next = againInMs === undefined ? "" : `; asking again in ${againInMs / 1000} s`;
  note(`GET ${url} (${attempt}): ${answer}${next}\n`);
}

interface SimulatedMachine extends Omit<Simulated, "tree"> {
  readonly root: string;
  readonly joined?: Joined;
}

/** The files and units of a simulated machine, without their contents. */
function simulatedText({ directories, files, joined, skipped, links, root, units }: SimulatedMachine): string {
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
