import type { End } from "../end.js";
import { carry } from "./bulk.js";
import { KIB, MIB, type Scenario } from "./scenario.js";

/** A conversation in which one side is done long before the other; only CONNECT can carry that. */
export const halfClose: Scenario = async (job) => {
  const { random } = job;
  const { caller, endpoint } = await job.open();
  const [first, second] = random.chance(0.5) ? [caller, endpoint] : [endpoint, caller];
  const [asked, answered] = [random.magnitude(1, 2 * MIB), random.magnitude(1, 2 * MIB)];
  if (random.chance(0.5)) {
    // Answers only once it has heard everything.
    await say(first, second, asked);
    await say(second, first, answered);
  } else {
    const answering = carry(second, first, answered);
    await Promise.all([say(first, second, asked), answering]);
    second.finish();
    await first.untilFinished();
  }
  await Promise.all([caller.untilGone(), endpoint.untilGone()]);
};

/** Sends and ends; the other side has to get all of it and then the end. */
async function say(from: End, to: End, bytes: number): Promise<void> {
  const total = to.received + bytes;
  const arriving = to.until(total);
  await Promise.all([from.send(bytes).then(() => from.finish()), arriving]);
  await to.untilFinished();
}

/** Sends and closes without waiting for anything: all of it has to arrive before the end does, through every frontend. */
export const lastWords: Scenario = async (job) => {
  const { random } = job;
  const { caller, endpoint } = await job.open();
  // gRPC clients, ours and upstream's, wait ten seconds for their close to be confirmed and then drop the session.
  job.impatient = job.frontend !== "connect";
  const [speaker, listener] = random.chance(0.5) ? [caller, endpoint] : [endpoint, caller];
  await say(speaker, listener, random.magnitude(1 * KIB, 1 * MIB));
  listener.finish();
  await Promise.all([caller.untilGone(), endpoint.untilGone()]);
};
