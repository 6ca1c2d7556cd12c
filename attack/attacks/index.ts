import type { Attack, FixtureName } from "../attack.js";
import { connectionConfusion } from "./connection-confusion.js";
import { continuationFlood, emptyContinuations } from "./continuation-flood.js";
import { dialFlood } from "./dial-flood.js";
import { emptyDataFlood } from "./empty-data-flood.js";
import { fuzzedFrames } from "./fuzzed-frames.js";
import { hpackBomb } from "./hpack-bomb.js";
import { manyStreams } from "./many-streams.js";
import { oneByteFrames, oneBytePackets } from "./one-byte-frames.js";
import { pingFlood } from "./ping-flood.js";
import { rapidReset } from "./rapid-reset.js";
import { settingsFlood } from "./settings-flood.js";
import { unknownConnections } from "./unknown-connections.js";
import { windowFlips } from "./window-flips.js";
import { windowUpdateFlood } from "./window-update-flood.js";

const ORDER: readonly FixtureName[] = ["tokens", "server", "descriptors", "agent", "policy", "sidecar", "ignition"];

/** All attacks; those on one kind of fixture follow each other. */
export const attacks: readonly Attack[] = [
  ...pingFlood,
  ...settingsFlood,
  ...windowUpdateFlood,
  ...windowFlips,
  ...rapidReset,
  ...manyStreams,
  ...emptyDataFlood,
  ...continuationFlood,
  ...emptyContinuations,
  ...hpackBomb,
  ...oneByteFrames,
  ...oneBytePackets,
  ...unknownConnections,
  ...connectionConfusion,
  ...dialFlood,
  ...fuzzedFrames,
].sort((one, other) => ORDER.indexOf(one.fixture) - ORDER.indexOf(other.fixture));
