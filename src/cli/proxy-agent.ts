/** The executable that takes the place of upstream's proxy-agent; misuse ends with 1, as there. */
import { startProgram } from "./framework/program.js";
import agentCommand from "./tunnel/agent.js";

startProgram("proxy-agent", agentCommand, 1);
