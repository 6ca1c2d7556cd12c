/** The executable that takes the place of HyperShift's konnectivity-socks5-proxy. */
import { main } from "./framework/command.js";
import { socks5ProxyCommand } from "./tunnel/konnectivity-command.js";

void main((argv) => socks5ProxyCommand("konnectivity-socks5-proxy", argv));
