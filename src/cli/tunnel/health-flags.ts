/** Where a process that runs until it is told to end shows how it is. */
import type { Endpoint } from "../../base/http.js";
import type { Flag, FlagSet } from "../flags/flag-set.js";
import { integer, string } from "../flags/flag-value.js";
import { refused } from "../framework/plain-command.js";

export interface HealthFlags {
  readonly healthAddress: Flag<string>;
  readonly healthPort: Flag<number>;
}

/** `when`: a condition, such as ", with --watch". */
export function declareHealth(set: FlagSet, when = ""): HealthFlags {
  const address = `Where /healthz, /readyz and /metrics are${when}. If empty, everywhere.`;
  return {
    healthAddress: set.add("health-bind-address", string, "", address),
    healthPort: set.add("health-port", integer, 0, "Port of these. If 0, none is opened."),
  };
}

export function checkHealth({ healthPort: { value } }: HealthFlags): void {
  if (value < 0 || value > 65_535) throw refused(`--health-port must be 0 to 65535, got ${value}`);
}

/** Undefined: no port is opened. */
export function healthOf({ healthAddress, healthPort }: HealthFlags): Endpoint | undefined {
  return healthPort.value === 0 ? undefined : { host: healthAddress.value, port: healthPort.value };
}
