/** The executable that takes the place of HyperShift's konnectivity-socks5-proxy; misuse ends with 1, as there. */
import { startProgram } from "./framework/program.js";
import { socks5ProxyCommand } from "./tunnel/konnectivity.js";

startProgram("konnectivity-socks5-proxy", socks5ProxyCommand, 1);
