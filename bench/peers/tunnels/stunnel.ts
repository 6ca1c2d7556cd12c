import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { CertFiles } from "../../../test/support/processes/certs.js";
import { lacking, programPath, saidVersion } from "../programs.js";
import { SUITE, twice } from "./forward.js";

export const stunnel = twice(
  {
    name: "stunnel",
    title: "stunnel twice",
    problem: () => lacking("stunnel4", "stunnel"),
    version: () => saidVersion("stunnel", "-version", /^stunnel (\S+)/m),
  },
  ({ dir, pki, socket, link, target }) => {
    const hop = (name: string, { ca, cert, key }: CertFiles, lines: readonly string[]) => {
      const file = join(dir, `${name}.conf`);
      const common = ["foreground = yes", "pid =", "syslog = no", "debug = err"];
      const tls = [`cert = ${cert}`, `key = ${key}`, `CAfile = ${ca}`, "verifyChain = yes"];
      const suite = ["sslVersion = TLSv1.3", `ciphersuites = ${SUITE}`];
      writeFileSync(file, [...common, ...lines, ...tls, ...suite, ""].join("\n"));
      return { name: `stunnel, ${name} end`, command: programPath("stunnel"), args: [file] };
    };
    // The others do not wait with small writes either.
    const remote = "socket = r:TCP_NODELAY=1";
    return {
      near: hop("near", pki.agent, [
        ...[remote, "[hop]", "client = yes", `accept = ${socket}`, `connect = ${link}`, "checkHost = localhost"],
      ]),
      far: hop("far", pki.cluster, [
        ...[remote, "socket = l:TCP_NODELAY=1", "[hop]", `accept = ${link}`, `connect = ${target}`],
      ]),
    };
  },
);
