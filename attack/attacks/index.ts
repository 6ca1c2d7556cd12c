import { type Attack, FIXTURES } from "../attack.js";
import { adminStrangers } from "./admin-strangers.js";
import { attraction } from "./attraction.js";
import { connectHeads } from "./connect-heads.js";
import { connectionConfusion } from "./connection-confusion.js";
import { continuationFlood, emptyContinuations } from "./continuation-flood.js";
import { dialFlood } from "./dial-flood.js";
import { emptyDataFlood } from "./empty-data-flood.js";
import { expiredCertificate } from "./expired-certificate.js";
import { fuzzedFrames } from "./fuzzed-frames.js";
import { healthHeaders } from "./health-headers.js";
import { hpackBomb } from "./hpack-bomb.js";
import { ignitionAttacks } from "./ignition.js";
import { malformedAttacks } from "./malformed-sessions.js";
import { manyStreams } from "./many-streams.js";
import { oneByteFrames, oneBytePackets } from "./one-byte-frames.js";
import { pingFlood } from "./ping-flood.js";
import { policySpellings } from "./policy-spellings.js";
import { rapidReset } from "./rapid-reset.js";
import { refusedCertificates } from "./refused-certificates.js";
import { settingsFlood } from "./settings-flood.js";
import { sidecarAttacks } from "./sidecar.js";
import { silentConnections } from "./silent-connections.js";
import { slowNames } from "./slow-names.js";
import { socketTheft } from "./socket-theft.js";
import { tlsHandshakes } from "./tls-handshakes.js";
import { tokenReviews } from "./token-reviews.js";
import { unknownConnections } from "./unknown-connections.js";
import { windowFlips } from "./window-flips.js";
import { windowUpdateFlood } from "./window-update-flood.js";

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
  ...malformedAttacks,
  ...connectHeads,
  healthHeaders,
  adminStrangers,
  tokenReviews,
  ...attraction,
  expiredCertificate,
  ...refusedCertificates,
  socketTheft,
  ...silentConnections,
  ...tlsHandshakes,
  ...policySpellings,
  slowNames,
  ...sidecarAttacks,
  ...ignitionAttacks,
].sort((one, other) => FIXTURES.indexOf(one.fixture) - FIXTURES.indexOf(other.fixture));
