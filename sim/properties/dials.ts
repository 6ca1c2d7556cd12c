/** How dials end at servers, as these report it themselves. */
import { serverDialEnded } from "../../src/tunnel/events/channels.js";
import type { System } from "../systems/system.js";

/** The returned function ends it. */
export function watchDials({ world, servers }: System): () => void {
  const ended = new WeakSet<object>();
  return serverDialEnded.subscribe(({ source, dial, outcome, error, address }) => {
    const at = [...servers.values()].find(({ server }) => server === source);
    if (at === undefined || dial === undefined) return;
    if (ended.has(dial))
      world.fail("one outcome for each dial", `the dial of ${address} has ended twice, now: ${outcome}`);
    ended.add(dial);
    if (outcome !== "backend_close" || error !== "the agent's stream ended") return;
    const { link, asked } = dial;
    const others = [...at.server.board.registry.links()].filter(
      ({ identity }) => identity.agentId !== link?.identity.agentId,
    );
    if (others.length > 0 && asked.firstDialledAt === asked.dialledAt)
      world.fail(
        "a lost agent's dials are tried once more",
        `${at.plan.name} gave ${address} up and has another agent`,
      );
  });
}
