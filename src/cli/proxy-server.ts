/** The executable that takes upstream proxy-server's place. */
import { main } from "./framework/command.js";
import { serverCommand } from "./tunnel/server-command.js";

void main((argv) => serverCommand("proxy-server", argv, { misuse: 1 }));
