/** The node's side of a first boot, without a machine: user data in, a directory as Ignition would have left it out. */
import { requireConfig } from "../../ignition/parse.js";
import { render } from "../../ignition/render.js";
import type { Clock } from "../../kube/clock.js";
import { type Applied, applyConfig } from "./apply.js";
import { type Attempt, Fetcher } from "./fetcher.js";
import { Tree } from "./tree.js";

export interface Simulation {
  /** The pointer config. */
  readonly userData: Buffer | string;
  readonly root: string;
  readonly patienceMs: number;
  readonly onAttempt?: (attempt: Attempt) => void;
  readonly clock?: Clock;
  readonly signal?: AbortSignal;
}

export interface Simulated extends Applied {
  readonly tree: Tree;
}

/** Throws DB_IGNITION_*, DB_SIMULATE_FETCH and DB_SIMULATE_ROOT; what was written until then stays to be looked at. */
export async function simulateBoot(simulation: Simulation): Promise<Simulated> {
  const { root, userData, ...rest } = simulation;
  const pointer = requireConfig(userData, "the user data");
  const tree = await Tree.at(root);
  const fetcher = new Fetcher(rest);
  const config = await render(pointer, fetcher.config);
  const applied = await applyConfig(tree, config, (resource, what) => fetcher.content(resource, config, what));
  return { ...applied, tree };
}
