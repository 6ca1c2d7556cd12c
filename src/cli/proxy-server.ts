/** The executable that takes the place of upstream's proxy-server; misuse ends with 1, as there. */
import { main } from "./framework/output.js";
import serverCommand from "./tunnel/server.js";

void main((argv) => serverCommand.run("proxy-server", argv, 1));
