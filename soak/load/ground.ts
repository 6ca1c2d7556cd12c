import type { Fixture } from "../fixture/fixture.js";
import type { Saboteur } from "../sabotage.js";
import type { Court } from "../watch/court.js";
import type { Impacts } from "../watch/impacts.js";
import type { Tally } from "../watch/tally.js";
import type { Watchdog } from "../watch/watchdog.js";
import type { Hub } from "./hub.js";
import type { Job } from "./job.js";

/** What everything that makes load stands on. */
export interface Ground extends JobGround {
  readonly fixture: Fixture;
}

/** What one tunnel needs of it. */
export interface JobGround {
  readonly seed: string;
  readonly fixture: Pick<Fixture, "frontends">;
  readonly hub: Hub;
  readonly court: Court;
  readonly impacts: Impacts;
  readonly watchdog: Watchdog;
  readonly tally: Tally;
  /** All jobs under way, by the address only they dial. */
  readonly jobs: Map<string, Job>;
  readonly saboteur: Pick<Saboteur, "spoil" | "freezes">;
}
