import { STAGING_BYTES, STAGING_POOL } from "./tuning.js";

/** A buffer that packets are encoded into, back to back. */
export interface Staging {
  readonly buffer: Buffer;
  fill: number;
  /** How many of them are control packets'. */
  control: number;
}

const free: Staging[] = [];

export function takeStaging(): Staging {
  return free.pop() ?? { buffer: Buffer.allocUnsafeSlow(STAGING_BYTES), fill: 0, control: 0 };
}

/** Only once the transport no longer reads from it: a buffer given back too early corrupts what is in flight. */
export function returnStaging(staging: Staging): void {
  staging.fill = 0;
  staging.control = 0;
  if (free.length < STAGING_POOL) free.push(staging);
}
