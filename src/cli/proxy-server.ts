/** The executable that takes the place of upstream's proxy-server; misuse ends with 1, as there. */
import { startProgram } from "./framework/program.js";
import serverCommand from "./tunnel/server.js";

startProgram("proxy-server", serverCommand, 1);
