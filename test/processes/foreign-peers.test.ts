import { agentPackets } from "../interop/pairings/protocol/agent.js";
import { connectAnswers } from "../interop/pairings/protocol/connect.js";
import { callerPackets } from "../interop/pairings/protocol/frontend.js";

// Callers and agents that follow only the protocol, or break it, against our real server: needs no Go.
callerPackets("ours");
agentPackets("ours");
connectAnswers("ours");
