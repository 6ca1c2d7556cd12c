import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { must } from "../support/lab/run.js";
import { START_WITHIN_MS, waitUntil } from "../support/processes/deadline.js";
import { freePort, portOpen } from "../support/processes/ports.js";
import { type RunningProcess, startProcess } from "../support/processes/process.js";

export const SUFFIX = "dc=example,dc=com";

/** A real directory with one person in it, as an identity provider behind the tunnel would have. */
export async function startSlapd(dir: string): Promise<{ readonly port: number; readonly process: RunningProcess }> {
  const config = join(dir, "slapd.conf");
  const people = join(dir, "people.ldif");
  mkdirSync(join(dir, "directory"));
  writeFileSync(
    config,
    [
      ...["core", "cosine", "inetorgperson"].map((schema) => `include /etc/ldap/schema/${schema}.schema`),
      `pidfile ${join(dir, "slapd.pid")}`,
      ...["database ldif", `suffix "${SUFFIX}"`, `directory ${join(dir, "directory")}`, ""],
    ].join("\n"),
  );
  writeFileSync(
    people,
    [
      ...[`dn: ${SUFFIX}`, "objectClass: dcObject", "objectClass: organization", "o: Example", "dc: example", ""],
      ...[`dn: uid=ada,${SUFFIX}`, "objectClass: inetOrgPerson", "uid: ada", "cn: Ada Lovelace", "sn: Lovelace", ""],
    ].join("\n"),
  );
  await must(["/usr/sbin/slapadd", "-f", config, "-l", people]);
  const port = await freePort();
  const process = startProcess({
    name: "slapd",
    command: "/usr/sbin/slapd",
    args: ["-f", config, "-h", `ldap://127.0.0.1:${port}`, "-d", "0"],
  });
  await process.untilReady("it listened", () =>
    waitUntil("slapd to listen", () => portOpen(port), { withinMs: START_WITHIN_MS }),
  );
  return { port, process };
}
