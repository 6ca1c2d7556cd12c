/** The executable that takes the place of HyperShift's konnectivity-https-proxy. */
import { main } from "./framework/command.js";
import { httpsProxyCommand } from "./tunnel/konnectivity-command.js";

void main((argv) => httpsProxyCommand("konnectivity-https-proxy", argv));
