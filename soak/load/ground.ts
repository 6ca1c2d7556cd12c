import type { Fixture } from "../fixture/fixture.js";
import type { Saboteur } from "../sabotage.js";
import type { Court } from "../watch/court.js";
import type { Impacts } from "../watch/impacts.js";
import type { Tally } from "../watch/tally.js";
import type { Watchdog } from "../watch/watchdog.js";
import type { Errand } from "./errand.js";
import type { Hub } from "./hub.js";

/** What everything that makes load stands on. */
export interface Ground {
  readonly seed: string;
  readonly fixture: Fixture;
  readonly hub: Hub;
  readonly court: Court;
  readonly impacts: Impacts;
  readonly watchdog: Watchdog;
  readonly tally: Tally;
  /** All errands under way, by the address only they dial. */
  readonly errands: Map<string, Errand>;
  readonly saboteur: Pick<Saboteur, "spoil" | "freezes">;
}
