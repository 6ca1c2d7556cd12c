import type { Random } from "../../random.js";
import type { Ends } from "../job.js";

/** Nothing is under way any more: one side closes in one of the ways there are, the other has to hear of it. */
export async function part({ caller, endpoint }: Ends, random: Random): Promise<void> {
  const [first, second] = random.chance(0.5) ? [caller, endpoint] : [endpoint, caller];
  switch (random.pick(["finish", "leave", "reset"] as const)) {
    case "finish":
      first.finish();
      await second.untilEnded();
      second.finish();
      await first.untilGone();
      break;
    case "leave":
      first.leave();
      await second.untilEnded();
      break;
    case "reset":
      first.reset();
      await second.untilEnded();
      break;
  }
}
