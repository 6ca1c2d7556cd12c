/** The executable that takes upstream proxy-agent's place. */
import { agentCommand } from "./agent-command.js";
import { main } from "./command.js";

await main((argv) => agentCommand("proxy-agent", argv, { misuse: 1 }));
