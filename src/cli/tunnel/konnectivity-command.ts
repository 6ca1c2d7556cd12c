/** HyperShift's names for the sidecar's two halves. */
import { parseHttpsProxyArgs, parseSocks5ProxyArgs } from "./konnectivity-args.js";
import { sidecarCommand } from "./sidecar-command.js";

/** HyperShift's proxies end with 1 whatever is wrong, and so do these, by whatever name they are called. */
const exitCodes = { misuse: 1 };

export function socks5ProxyCommand(program: string, argv: readonly string[]): Promise<number> {
  return sidecarCommand(program, argv, exitCodes, parseSocks5ProxyArgs);
}

export function httpsProxyCommand(program: string, argv: readonly string[]): Promise<number> {
  return sidecarCommand(program, argv, exitCodes, parseHttpsProxyArgs);
}
