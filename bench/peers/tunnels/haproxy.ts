import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { CertFiles } from "../../../test/support/processes/certs.js";
import { lacking, programPath, saidVersion } from "../programs.js";
import { SUITE, twice } from "./forward.js";

export const haproxy = twice(
  {
    name: "haproxy",
    title: "HAProxy twice",
    problem: () => lacking("haproxy", "haproxy"),
    version: () => saidVersion("haproxy", "-v", /version (\S+)/),
  },
  ({ dir, pki, socket, link, target }) => {
    const tls = (name: string, { ca, cert, key }: CertFiles) => {
      const file = join(dir, `${name}.pem`);
      writeFileSync(file, readFileSync(cert, "utf8") + readFileSync(key, "utf8"), { mode: 0o600 });
      return `ssl crt ${file} ca-file ${ca} verify required ssl-min-ver TLSv1.3 ciphersuites ${SUITE}`;
    };
    const hop = (name: string, bind: string, server: string) => {
      const file = join(dir, `${name}.cfg`);
      const timeouts = ["connect 10s", "client 1h", "server 1h"].map((timeout) => `  timeout ${timeout}`);
      const lines = ["global", "  maxconn 6000", "defaults", "  mode tcp", ...timeouts, "listen hop"];
      writeFileSync(file, [...lines, `  bind ${bind}`, `  server next ${server}`, ""].join("\n"));
      return { name: `HAProxy, ${name} end`, command: programPath("haproxy"), args: ["-db", "-f", file] };
    };
    return {
      near: hop(
        "near",
        `unix@${socket}`,
        `${link} ${tls("client", pki.agent)} sni str(localhost) verifyhost localhost`,
      ),
      far: hop("far", `${link} ${tls("server", pki.cluster)}`, target),
    };
  },
);
