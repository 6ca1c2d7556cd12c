/** The executable that takes the place of upstream's proxy-agent; misuse ends with 1, as there. */
import { main } from "./framework/output.js";
import agentCommand from "./tunnel/agent.js";

void main((argv) => agentCommand.run("proxy-agent", argv, 1));
