/**
 * Where the single executable begins. It is all of our executables in one file: the name it was called by says which,
 * and drawbridge's own commands bring the others under any name.
 */
import { basename, dirname, join } from "node:path";

const [, calledAs = ""] = process.argv;
const name = basename(calledAs);
// Called by a name that is looked up in PATH, it would not know which file it is; what it starts lies beside that file.
process.argv[1] = join(dirname(process.execPath), name);

switch (name) {
  case "proxy-server":
    void import("../../src/cli/proxy-server.js");
    break;
  case "proxy-agent":
    void import("../../src/cli/proxy-agent.js");
    break;
  case "konnectivity-socks5-proxy":
    void import("../../src/cli/konnectivity-socks5-proxy.js");
    break;
  case "konnectivity-https-proxy":
    void import("../../src/cli/konnectivity-https-proxy.js");
    break;
  default:
    void import("../../src/cli/drawbridge.js");
}
