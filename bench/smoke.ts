import { peersAvailable } from "../test/support/processes/executables.js";
import type { Contender, ContenderKind } from "./contenders/contender.js";
import { Fixture } from "./contenders/fixture.js";
import { layGround } from "./contenders/ground.js";
import { type DriveOptions, drive, type Scenario } from "./load/drive.js";
import { binds } from "./results/binding.js";
import { faultsOf } from "./rows/metered.js";
import type { Fault } from "./rows/row.js";
import { judge } from "./rows/stalled.js";

const MIB = 2 ** 20;

const own: readonly ContenderKind[] = [
  { name: "ours/ours", frontend: "connect-uds" },
  { name: "ours/ours", frontend: "grpc-uds" },
  { name: "ours/ours", frontend: "connect-tcp" },
];

const mixed: readonly ContenderKind[] = [
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

const stalls = ["stalled-reader", "stalled-endpoint"] as const;

export type Say = (line: string) => void;

/** What must hold at any speed, for every way in; the mixed pairs where upstream's programs are at hand. The exit code. */
export async function smoke(say: Say): Promise<number> {
  const kinds = peersAvailable("proxy-server", "proxy-agent") ? [...own, ...mixed] : own;
  const ground = await layGround();
  const fixture = new Fixture(ground);
  let violations = 0;
  try {
    for (const kind of kinds) violations += await checkOne(kind, () => fixture.fresh(kind), say);
  } finally {
    await ground.close();
  }
  say(violations === 0 ? "smoke: all intact" : `smoke: ${violations} violation(s)`);
  return violations === 0 ? 0 : 1;
}

/** How many of the things that bind were violated. */
export async function checkOne(kind: ContenderKind, open: () => Promise<Contender>, say: Say): Promise<number> {
  const contender = await open();
  let violations = 0;
  try {
    for await (const { what, faults } of checks(contender, kind)) {
      const binding = faults.filter((fault) => binds(fault.kind, kind.name));
      violations += binding.length;
      const verdict = binding.map((fault) => `${fault.kind}: ${fault.text}`).join("; ") || "ok";
      say(`${kind.name.padEnd(9)} ${kind.frontend.padEnd(11)} ${what.padEnd(16)} ${verdict}`);
    }
  } finally {
    await contender.close();
  }
  return violations;
}

/** Stalls last, and only where nothing but our own ends is at stake; one way in of each kind is enough. */
async function* checks(
  contender: Contender,
  { name, frontend }: ContenderKind,
): AsyncGenerator<{ what: string; faults: Fault[] }> {
  for (const [scenario, options] of transfers) {
    yield { what: `${scenario} ${options.tunnels}`, faults: faultsOf(await drive(contender.route, scenario, options)) };
  }
  if (name !== "ours/ours" || frontend === "connect-tcp") return;
  for (const scenario of stalls) {
    const result = await drive(contender.route, scenario, { warmupSeconds: 0.1, seconds: 0.5 });
    yield { what: scenario, faults: judge(contender, result).faults };
  }
}
