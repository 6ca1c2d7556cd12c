/** A host with whatever a test puts there. */

import type { Finding } from "../../../base/finding.js";
import { FakeHost, own } from "../../../cluster/bootstrap/address/testing/fake-host.js";
import { bridgeModel } from "../../../cluster/bootstrap/model/model.js";
import { commandLine } from "../../../cluster/bootstrap/settings/command-line.js";
import type { Check } from "../check.js";
import type { DoctorContext, DoctorHost } from "../context.js";
import type { RunningProgram, TcpListener } from "../facts.js";
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
    words && { ...commandLine("process 7", words), pid: 7, words };
  return {
    network: fake.network ?? new FakeHost([own("eth0", "192.168.66.10/24")], { "1.1.1.1": "192.168.66.10" }),
    listeners: async () => fake.listeners ?? [],
    running: async (program) => running(fake[program]),
    readText: async (path) => fake.files?.[path],
    routesTo: async () => fake.routes ?? [],
  };
}

export function context(changes: Partial<DoctorContext> = {}, host: FakeDoctorHost = {}): DoctorContext {
  return {
    role: "server",
    model: bridgeModel({ for: "bare" }),
    host: fakeHost(host),
    env: {},
    now: () => new Date("2026-11-16T00:00:00Z"),
    address: undefined,
    agentPort: 8091,
    pki: "/nowhere/pki",
    socket: "/nowhere/s.sock",
    egressConfig: "/nowhere/egress.yaml",
    ports: { health: 2041, admin: 8095 },
    networks: { machine: [], pod: [], service: [], from: "nowhere" },
    cluster: undefined,
    admin: { state: "closed", remedy: "Give --token-file." },
    sidecar: undefined,
    objects: undefined,
    ...changes,
  };
}

export async function findingsOf(check: Check, given: DoctorContext): Promise<Finding[]> {
  const findings = await runChecks([check], hostSource(given));
  for (const { state, message, remedy } of findings) {
    if (/\.$|undefined/.test(message)) throw new Error(`a message is a sentence without its full stop: ${message}`);
    if ((state === "failed" || state === "warning") && remedy === "") throw new Error(`no remedy for: ${message}`);
  }
  return findings;
}

/** `state: message` of each finding. */
export async function messagesOf(check: Check, given: DoctorContext): Promise<string[]> {
  return (await findingsOf(check, given)).map(({ state, message }) => `${state}: ${message}`);
}
