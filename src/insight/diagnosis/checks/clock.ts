/** Certificates live a day: clocks that disagree end them early or start them late. */
import { messageOf } from "../../../base/errors/error.js";
import { roughly } from "../../../tunnel/pki/inspect/duration.js";
import type { DoctorContext } from "../context.js";
import { type Check, type Outcome, ok, roles, skipped, warning, wrong } from "../diagnosis.js";

/** The Date header has whole seconds only. */
const TOLERABLE = 10_000;
/** Certificates are back-dated by two hours; beyond this something is badly off. */
const SERIOUS = 5 * 60_000;

export const clock: Check<DoctorContext> = {
  id: "clock",
  roles,
  async run({ cluster, now }) {
    if (cluster === undefined || typeof cluster === "string") {
      return [skipped("there is no API server to compare clocks with", "Give --kubeconfig.")];
    }
    try {
      const { date, tookMs } = await cluster.date();
      return [judgeClock(now(), date, tookMs, cluster.server)];
    } catch (reason) {
      return [skipped(`the API server's clock cannot be read: ${messageOf(reason)}`)];
    }
  },
};

export function judgeClock(here: Date, there: Date, tookMs: number, server: string): Outcome {
  const off = here.getTime() - there.getTime();
  const size = Math.max(0, Math.abs(off) - tookMs);
  const evidence = [`here ${here.toISOString()}`, `${server} ${there.toISOString()}`];
  if (size <= TOLERABLE) return ok("this host's clock agrees with the API server's", ...evidence);
  const finding = `this host's clock is ${roughly(Math.abs(off))} ${off > 0 ? "ahead of" : "behind"} the API server's`;
  const remedy = "Set it: chronyc makestep, and see chronyc tracking for the one that is right.";
  return size > SERIOUS ? wrong(finding, remedy, ...evidence) : warning(finding, remedy, ...evidence);
}
