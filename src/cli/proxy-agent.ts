/** The executable that takes upstream proxy-agent's place. */
import { agentCommand } from "./agent-command.js";
import { main } from "./command.js";

void main((argv) => agentCommand("proxy-agent", argv, { misuse: 1 }));
