import { sleep } from "../end.js";
import { KIB, MIB, type Scenario } from "./scenario.js";

/** How long the last bytes of a closed tunnel may take before the socket is destroyed, and a bit. */
const LINGER_MS = 11_500;

/** The caller stops reading for good, and leaves with everything unread. */
export const readerLeaves: Scenario = async (job) => {
  const { random } = job;
  const { caller, endpoint } = await job.open();
  const flood = endpoint.flood();
  await caller.until(random.magnitude(1, 4 * MIB));
  caller.stopReading();
  await sleep(random.between(200, 6_000));
  caller.leave();
  await endpoint.untilEnded();
  endpoint.leave();
  await flood;
};

/** The endpoint stops reading for good, and resets. */
export const endpointStops: Scenario = async (job) => {
  const { random } = job;
  const { caller, endpoint } = await job.open();
  const flood = caller.flood();
  await endpoint.until(random.magnitude(1, 4 * MIB));
  endpoint.stopReading();
  await sleep(random.between(200, 6_000));
  endpoint.reset();
  await caller.untilEnded();
  caller.leave();
  await flood;
};

/** The endpoint does not read when the caller leaves: the agent may not wait for it for ever. */
export const leftAlone: Scenario = async (job) => {
  const { random } = job;
  const { caller, endpoint } = await job.open();
  const flood = caller.flood();
  await endpoint.until(random.magnitude(1, 1 * MIB));
  endpoint.stopReading();
  await sleep(random.between(100, 1_000));
  caller.leave();
  await flood;
  await sleep(LINGER_MS);
  endpoint.readOn();
  await endpoint.untilEnded();
};

/** Either side goes away in the middle of everything. */
export const cutShort: Scenario = async (job) => {
  const { random } = job;
  const { caller, endpoint } = await job.open();
  const floods = [caller.flood(), endpoint.flood()];
  const [first, second] = random.chance(0.5) ? [caller, endpoint] : [endpoint, caller];
  await Promise.all([caller, endpoint].map((end) => end.until(random.magnitude(1, 512 * KIB))));
  if (random.chance(0.5)) first.reset();
  else first.leave();
  await second.untilEnded();
  second.leave();
  await Promise.all(floods);
};
