import { run } from "../../lab/run.js";
import type { Entrance } from "./balancer.js";
import type { Result } from "./caller.js";

const DEADLINE_MS = 15_000;
const SCRIPT = "echo begin; sleep 3; echo end";

export interface Talker {
  readonly namespace: string;
  readonly name: string;
  readonly node: string;
}

/** An address of the balancer that one session at a time uses, so that it is known which kube-apiserver had it. */
export interface Slot {
  readonly entrance: Entrance;
  /** The command up to the verb. */
  readonly kubectl: readonly string[];
}

/** `kubectl exec` in one talker after the other. */
export function sessions(slots: readonly Slot[], talkers: () => readonly Talker[]): () => Promise<Result> {
  const free = [...slots];
  let turn = 0;
  return async () => {
    const all = talkers();
    const talker = all[turn++ % all.length];
    const slot = free.shift();
    if (slot === undefined || talker === undefined) return { said: "there is no pod for a session" };
    slot.entrance.taken.clear();
    const { namespace, name, node } = talker;
    const command = [...slot.kubectl, "exec", "-n", namespace, name, "--", "sh", "-c", SCRIPT];
    try {
      const { code, stdout, stderr } = await run(command, { timeoutMs: DEADLINE_MS });
      const by = [...new Set(slot.entrance.taken.values())];
      if (code === 0 && stdout === "begin\nend\n") return { by, node };
      return { said: `kubectl ended with ${code} after ${JSON.stringify(stdout)}: ${stderr.trim()}`, by, node };
    } finally {
      free.push(slot);
    }
  };
}
