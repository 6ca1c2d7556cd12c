/** The certificates of this side: chain, addresses, life. */
import { existsSync } from "node:fs";
import type { DoctorContext } from "../context.js";
import { type Check, ok, skipped, warning, wrong } from "../diagnosis.js";

export const certificates: Check<DoctorContext> = {
  id: "certificates",
  roles: ["server", "agent", "bootstrap"],
  async run({ pki, address, role, now }) {
    if (!existsSync(pki))
      return [skipped(`${pki} does not exist here`, "Name the directory of the certificates with --pki.")];
    const { inspectPath } = await import("../../../tunnel/pki/inspect/inspect.js");
    // An agent has no certificate of the server's to look at; the handshake shows it.
    const asked = address === undefined || role === "agent" ? {} : { address };
    const report = await inspectPath(pki, { ...asked, now: now() });
    const found = report.findings.map(({ severity, file, message, remedy }) =>
      severity === "wrong" ? wrong(`${file}: ${message}`, remedy) : warning(`${file}: ${message}`, remedy),
    );
    if (found.length > 0) return found;
    if (report.certificates.length === 0)
      return [wrong(`${pki} holds no certificate`, "Name the right directory with --pki.")];
    const earliest = report.certificates.reduce((one, other) => (other.notAfter < one.notAfter ? other : one));
    const lines = report.certificates.map(
      ({ file, subject, names }) => `${file}: ${subject}${names.length > 0 ? ` for ${names.join(", ")}` : ""}`,
    );
    return [
      ok(
        `${report.certificates.length} certificates fit together and last until ${earliest.notAfter.toISOString()}`,
        ...lines,
      ),
    ];
  },
};
