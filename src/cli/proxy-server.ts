/** The executable that takes upstream proxy-server's place. */
import { main } from "./command.js";
import { serverCommand } from "./server-command.js";

void main((argv) => serverCommand("proxy-server", argv, { misuse: 1 }));
