import { Broken } from "../broken.js";
import type { Scenario } from "./scenario.js";

/** Agents give up after 5 s, two of them may try. */
const UNANSWERED_WITHIN_MS = 20_000;

/** The caller hangs up while its dial is under way, at an endpoint that answers or at one that never does. */
export const hangUpInDial: Scenario = async (job, { fixture }) => {
  const { random, server } = job;
  const frontend = job.frontend === "connect" ? "connect" : "grpc";
  const [address, afterMs] = random.chance(0.5)
    ? [fixture.blackHole.address, random.between(0, 3_000)]
    : [job.address, random.between(0, 5)];
  try {
    await fixture.frontends.dialAndHangUp(frontend, server, address, Math.ceil(afterMs));
  } catch (reason) {
    throw new Broken("dial", reason instanceof Error ? reason.message : String(reason));
  }
};

/** The caller leaves before its request is complete. */
export const mumble: Scenario = async ({ random, server }, { fixture }) => {
  try {
    await fixture.frontends.mumble(server, random.whole(0, 30));
  } catch (reason) {
    throw new Broken("dial", reason instanceof Error ? reason.message : String(reason));
  }
};

/** Nobody listens at the endpoint: the caller has to be told so. */
export const refused: Scenario = async (job, { fixture }) => {
  const [host] = job.address.split(":");
  await expectRefusal(job.dial(`${host}:${fixture.deafPort}`), /connection refused/);
};

/** The endpoint's host does not answer at all. */
export const unanswered: Scenario = async (job, { fixture }) => {
  job.usesUpAttempts = true;
  job.hopeless = true;
  await expectRefusal(job.dial(fixture.blackHole.address, UNANSWERED_WITHIN_MS), /timeout|timed out/);
};

async function expectRefusal(dial: Promise<{ destroy(): unknown }>, words: RegExp): Promise<void> {
  let socket: { destroy(): unknown };
  try {
    socket = await dial;
  } catch (reason) {
    if (reason instanceof Broken && words.test(reason.message)) return;
    throw reason;
  }
  socket.destroy();
  throw new Error("a dial succeeded that nobody could have answered");
}
