/** A host with whatever a test puts there. */

import { readFile } from "node:fs/promises";
import type { Finding } from "../../../base/finding.js";
import { FakeNetwork, own } from "../../../cluster/bootstrap/address/testing/fake-host.js";
import { bridgeModel } from "../../../cluster/bootstrap/model/model.js";
import { commandLine } from "../../../cluster/bootstrap/settings/programs.js";
import type { Check, FactSource } from "../check.js";
import type { RunningProgram, TcpListener } from "../facts.js";
import type { DoctorHost } from "../host/this-host.js";
import type { DoctorPlace } from "../place.js";
import type { ProgramKind } from "../programs.js";
import { runChecks } from "../run.js";
import { hostSource } from "../sources/host.js";

/** The command line of each program. */
type FakePrograms = Readonly<Partial<Record<ProgramKind, readonly string[]>>>;

export interface FakeDoctorHost extends FakePrograms {
  readonly files?: Readonly<Record<string, string>>;
  readonly listeners?: readonly TcpListener[];
  readonly routes?: readonly string[];
  readonly network?: DoctorHost["network"];
}

export function fakeHost(fake: FakeDoctorHost = {}): DoctorHost {
  const running = (words: readonly string[] | undefined): RunningProgram | undefined =>
    words && { ...commandLine("process 7", words), pid: 7, words, others: [] };
  return {
    network: fake.network ?? new FakeNetwork([own("eth0", "192.168.66.10/24")], { "1.1.1.1": "192.168.66.10" }),
    listeners: async () => fake.listeners ?? [],
    running: async (program) => running(fake[program]),
    readText: async (path) => fake.files?.[path],
    readAs: async (_, path) => fake.files?.[path] ?? (await readFile(path, "utf8")),
    routesTo: async () => fake.routes ?? [],
  };
}

/** The facts of a host; `facts` are given instead of gathered. */
export function context(
  { facts, ...changes }: Partial<DoctorPlace> & { readonly facts?: FactSource } = {},
  host: FakeDoctorHost = {},
): FactSource {
  const place: DoctorPlace = {
    ...{
      role: "server",
      pid: 0,
      for: undefined,
      dir: "",
      model: bridgeModel({ for: "bare" }),
      host: fakeHost(host),
      env: {},
    },
    now: () => new Date("2026-11-16T00:00:00Z"),
    ...{ address: "", agentPort: 8091, healthPort: 0, adminPort: 0, namespace: "clusters" },
    ...{ pki: "/nowhere/pki", socket: "/nowhere/s.sock", egressConfig: "/nowhere/egress.yaml" },
    ...{ kubeconfig: "", context: "", stateDir: "", isStateDirGiven: false },
    ...{ machineNetwork: [], podNetwork: [], serviceNetwork: [], admin: "", tokenFile: "", caFile: "" },
    ...{ isBridge: true, isSocketGiven: false },
    isAddressGiven: (changes.address ?? "") !== "",
    programSettings: {
      agent: () => Promise.reject(new Error("no test of this starts an agent")),
      sidecar: () => Promise.reject(new Error("no test of this starts a sidecar")),
    },
    ...changes,
  };
  return { ...hostSource(place, []), ...facts };
}

export async function findingsOf(check: Check, given: FactSource): Promise<Finding[]> {
  const findings = await runChecks([check], given);
  for (const { state, message, remedy } of findings) {
    if (/\.$|undefined/.test(message)) throw new Error(`a message is a sentence without its full stop: ${message}`);
    if ((state === "failed" || state === "warning") && remedy === "") throw new Error(`no remedy for: ${message}`);
  }
  return findings;
}

/** `state: message` of each finding. */
export async function messagesOf(check: Check, given: FactSource): Promise<string[]> {
  return (await findingsOf(check, given)).map(({ state, message }) => `${state}: ${message}`);
}
