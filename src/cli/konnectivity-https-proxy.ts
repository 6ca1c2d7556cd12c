/** The executable that takes the place of HyperShift's konnectivity-https-proxy; misuse ends with 1, as there. */
import { main } from "./framework/output.js";
import { httpsProxyCommand } from "./tunnel/konnectivity.js";

void main((argv) => httpsProxyCommand.run("konnectivity-https-proxy", argv, 1));
