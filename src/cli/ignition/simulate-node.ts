/** `drawbridge simulate-node`: what a machine would do with its user data, played on this host. */
import { readFile } from "node:fs/promises";
import { text as textOf } from "node:stream/consumers";
import { DrawbridgeError, messageOf } from "../../base/errors/error.js";
import type { FetchAttempt } from "../../cluster/nodes/simulate/fetcher.js";
import type { Joined } from "../../cluster/nodes/simulate/join.js";
import type { Simulated } from "../../cluster/nodes/simulate/simulate.js";
import type { Flag, FlagSet } from "../flags/flag-set.js";
import { boolean, duration, string, stringSlice } from "../flags/flag-value.js";
import { type GoDuration, parseGoDuration, toMilliseconds } from "../flags/go-duration.js";
import { addOutput, json, refused, runPlainCommand } from "../framework/plain-command.js";
import { simulatedText } from "./simulate-node-report.js";

const purpose = `Plays a machine's first boot with a user-data file (- is standard input): fetches what it refers to with its headers,
authorities and proxy, asks again as Ignition does (511 and every other status from 500 on, and every network error;
401, 404 and the like end it), checks hashes, merges, and writes files, links and units below --root, never outside.

Users, owners, disks and kernel arguments are left out and listed. A fetch is a fetch: an Ignition server counts this host
as a machine of the pool.

With --csr it goes on as the kubelet would: with the bootstrap kubeconfig of the payload it asks for a client certificate,
registers a Node (unschedulable) and asks for a serving certificate; both are written below --root. Remove the Node with
kubectl delete node NAME afterwards.`;

interface SimulateFlags {
  readonly root: Flag<string>;
  readonly timeout: Flag<GoDuration>;
  readonly csr: Flag<boolean>;
  readonly name: Flag<string>;
  readonly addresses: Flag<readonly string[]>;
  readonly output: Flag<"text" | "json" | undefined>;
}

export function simulateNode(program: string, argv: readonly string[]): Promise<number> {
  return runPlainCommand(program, argv, { purpose, words: " FILE", declare, check, run });
}

function declare(set: FlagSet): SimulateFlags {
  return {
    root: set.add("root", string, "", "New or empty directory that stands for the machine's disk. Required."),
    timeout: set.add("timeout", duration, parseGoDuration("2m"), "How long each fetch and certificate is waited for."),
    csr: set.add("csr", boolean, false, "Also become a node, as far as certificates go."),
    name: set.add("name", string, "", "The node's name. If empty, what the payload writes to /etc/hostname."),
    addresses: set.add("address", stringSlice, [], "Address of the node, for its serving certificate."),
    output: addOutput(set),
  };
}

function check({ addresses, csr, name, root, timeout }: SimulateFlags, [file, more]: readonly string[]): void {
  if (file === undefined) throw refused("the user-data file is missing");
  if (more !== undefined) throw refused(`"${more}" is one word too many`);
  if (root.value === "") throw refused("--root is missing: where should the machine's files go?");
  if (timeout.value <= 0n) throw refused("--timeout must be more than nothing");
  if (!csr.value && (name.value !== "" || addresses.value.length > 0)) throw refused("--name and --address need --csr");
}

async function run(flags: SimulateFlags, [file = ""]: readonly string[]): Promise<number> {
  const { simulateBoot } = await import("../../cluster/nodes/simulate/simulate.js");
  const timeoutMs = toMilliseconds(flags.timeout.value);
  const booted = await simulateBoot({ userData: await read(file), root: flags.root.value, timeoutMs, onAttempt });
  const joined = flags.csr.value ? await join(flags, booted, timeoutMs) : undefined;
  const { tree, ...applied } = booted;
  const result = { root: tree.root, ...applied, ...(joined && { joined }) };
  process.stdout.write(flags.output.value === "json" ? json(result) : simulatedText(result));
  return 0;
}

async function join(flags: SimulateFlags, { tree }: Simulated, timeoutMs: number): Promise<Joined> {
  const { joinCluster } = await import("../../cluster/nodes/simulate/join.js");
  const hostname = await tree.file("/etc/hostname");
  const result = hostname === undefined ? "" : await readFile(hostname, "utf8");
  // A kubelet does the same with its host's name.
  const name = flags.name.value || result.trim().toLowerCase();
  if (name === "") {
    throw new DrawbridgeError("DB_SIMULATE_JOIN", "the payload gives the machine no name; give one with --name");
  }
  return joinCluster({ tree, name, addresses: flags.addresses.value, timeoutMs, onStep: say });
}

async function read(file: string): Promise<string> {
  if (file === "-") return textOf(process.stdin);
  try {
    return await readFile(file, "utf8");
  } catch (reason) {
    throw new DrawbridgeError("DB_IGNITION_CONFIG", `${file} cannot be read: ${messageOf(reason)}`);
  }
}

/** On stderr: what stands on stdout is the result. */
function say(sentence: string): void {
  process.stderr.write(`${sentence}\n`);
}

function onAttempt({ againInMs, attempt, result, status, url }: FetchAttempt): void {
  const answer = status === undefined ? result : `${status}, ${result}`;
  const next = againInMs === undefined ? "" : `; asking again in ${againInMs / 1000} s`;
  say(`GET ${url} (${attempt}): ${answer}${next}`);
}
