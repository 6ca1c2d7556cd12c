/** The executable that takes the place of HyperShift's konnectivity-https-proxy; misuse ends with 1, as there. */
import { startProgram } from "./framework/program.js";
import { httpsProxyCommand } from "./tunnel/konnectivity.js";

startProgram("konnectivity-https-proxy", httpsProxyCommand, 1);
