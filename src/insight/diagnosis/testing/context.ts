/** A host that says whatever a test wants. */
import { FakeHost, own } from "../../../cluster/bootstrap/address/testing/fake-host.js";
import { bridgeModel } from "../../../cluster/bootstrap/model/model.js";
import { commandLine } from "../../../cluster/bootstrap/settings/command-line.js";
import type { DoctorContext, DoctorHost, Listener, RunningProgram } from "../context.js";
import type { Check, Outcome } from "../diagnosis.js";
import type { Program } from "../program.js";

/** The words each program was started with. */
type FakePrograms = Readonly<Partial<Record<Program, readonly string[]>>>;

export interface FakeDoctorHost extends FakePrograms {
  readonly files?: Readonly<Record<string, string>>;
  readonly listeners?: readonly Listener[];
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

/** `state: finding` of each outcome. */
export async function told(check: Check<DoctorContext>, given: DoctorContext): Promise<string[]> {
  const outcomes = await check.run(given);
  for (const outcome of outcomes) expectSound(outcome);
  return outcomes.map(({ state, finding }) => `${state}: ${finding}`);
}

function expectSound({ state, finding, remedy }: Outcome): void {
  if (/\.$|undefined/.test(finding)) throw new Error(`a finding is the start of a sentence: ${finding}`);
  if ((state === "wrong" || state === "warning") && remedy === "") throw new Error(`no remedy for: ${finding}`);
}
