/** The executable that takes the place of HyperShift's konnectivity-socks5-proxy; misuse ends with 1, as there. */
import { main } from "./framework/output.js";
import { socks5ProxyCommand } from "./tunnel/konnectivity.js";

void main((argv) => socks5ProxyCommand.run("konnectivity-socks5-proxy", argv, 1));
