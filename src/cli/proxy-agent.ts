/** The executable that takes upstream proxy-agent's place. */

import { main } from "./framework/command.js";
import { agentCommand } from "./tunnel/agent-command.js";

void main((argv) => agentCommand("proxy-agent", argv, { misuse: 1 }));
