import { peersAvailable } from "../test/support/processes/executables.js";
import { type Contender, type ContenderKind, PAIRS } from "./contenders/contender.js";
import { layGround } from "./contenders/ground.js";
import { Stage } from "./contenders/stage.js";
import { type DriveOptions, drive, type Scenario } from "./load/drive.js";
import { binds } from "./results/binding.js";
import { faultsOf } from "./rows/metered.js";
import type { Fault } from "./rows/row.js";
import { judge } from "./rows/stalled.js";

const MIB = 2 ** 20;

/** What must hold at any speed, for every way in; the mixed pairs where upstream's programs are at hand. */
const kinds: readonly ContenderKind[] = [
  { name: "ours/ours", frontend: "connect-uds" },
  { name: "ours/ours", frontend: "grpc-uds" },
  { name: "ours/ours", frontend: "connect-tcp" },
  { name: "ours/Go", frontend: "connect-uds" },
  { name: "Go/ours", frontend: "connect-uds" },
];

/** Sized bulk, so that a lost tail shows too. */
const transfers: readonly (readonly [Scenario, DriveOptions])[] = [
  ["bulk-down", { tunnels: 8, bytes: 16 * MIB }],
  ["bulk-up", { tunnels: 8, bytes: 16 * MIB }],
  ["bulk-down", { tunnels: 1, bytes: 64 * MIB }],
  ["ping-pong", { tunnels: 64, warmupSeconds: 0, seconds: 0.5 }],
  ["new-tunnels", { tunnels: 32, warmupSeconds: 0, seconds: 0.5 }],
];

/** Correctness only; the exit code. */
export async function smoke(say: (line: string) => void): Promise<number> {
  const chosen = kinds.filter(({ name }) => name === PAIRS[0] || peersAvailable("proxy-server", "proxy-agent"));
  const ground = await layGround();
  const stage = new Stage(ground);
  let violated = 0;
  try {
    for (const kind of chosen) {
      const contender = await stage.fresh(kind);
      try {
        for await (const { what, faults } of checks(contender, kind)) {
          const binding = faults.filter((fault) => binds(fault.kind, kind.name));
          violated += binding.length;
          const verdict = binding.length === 0 ? "ok" : binding.map(({ kind: k, text }) => `${k}: ${text}`).join("; ");
          say(`${kind.name} ${kind.frontend.padEnd(11)} ${what.padEnd(16)} ${verdict}`);
        }
      } finally {
        await contender.close();
      }
    }
  } finally {
    await ground.close();
  }
  say(violated === 0 ? "smoke: all intact" : `smoke: ${violated} violation(s)`);
  return violated === 0 ? 0 : 1;
}

async function* checks(contender: Contender, { name, frontend }: ContenderKind) {
  for (const [scenario, options] of transfers) {
    const result = await drive(contender.door, scenario, options);
    yield { what: `${scenario} ${options.tunnels}`, faults: faultsOf(result) satisfies Fault[] };
  }
  if (name !== PAIRS[0] || frontend === "connect-tcp") return;
  for (const scenario of ["stalled-reader", "stalled-endpoint"] as const) {
    const result = await drive(contender.door, scenario, { warmupSeconds: 0.1, seconds: 0.5 });
    yield { what: scenario, faults: judge(contender, result).faults };
  }
}
