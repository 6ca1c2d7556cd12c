/** Every difference between our /metrics and upstream's that is meant to be there. */
import type { AllowedDifference } from "./compare.js";

export const deviations: readonly AllowedDifference[] = [
  {
    why: "a gauge is shown from the start; upstream shows most of theirs only once they have moved",
    sentence: /: only ours has (it \(a gauge at 0\)|the series .* \(gauge at 0\))$/,
  },
  {
    why: "upstream added it after the release that the peers are built from",
    sentence: /^konnectivity_network_proxy_server_connection_duration_seconds: only ours has it \(a histogram\)$/,
  },
];

/** Between a server and an agent that are both ours. */
export const additions: readonly AllowedDifference[] = [
  {
    why: "packets that only drawbridge peers exchange",
    sentence: /_stream_packets_total: only ours has the series \{packet_type="(CREDIT|END_OF_STREAM)",/,
  },
  {
    why: "a tunnel whose two directions both ended by END_OF_STREAM is over without a closing packet",
    sentence: /_stream_packets_total: ours lacks the series \{packet_type="CLOSE_(REQ|RSP)",/,
  },
];
