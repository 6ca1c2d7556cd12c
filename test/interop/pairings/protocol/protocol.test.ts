import { describe } from "vitest";
import { peersAvailable } from "../../../support/processes/executables.js";
import { agentPackets } from "./agent.js";
import { connectAnswers } from "./connect.js";
import { callerPackets } from "./frontend.js";

// Upstream's server is asked the same: it shows that the expectations are right, and where ours differs on purpose.
describe.skipIf(!peersAvailable("proxy-server"))("upstream's own server", () => {
  callerPackets("theirs");
  agentPackets("theirs");
  connectAnswers("theirs");
});

callerPackets("ours");
agentPackets("ours");
connectAnswers("ours");
