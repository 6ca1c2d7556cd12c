/** Are the certificates in the bridge's directory of one issue, alive and for the right address? */
import { existsSync } from "node:fs";
import { type Check, fail, type Outcome, pass, skip } from "../../../../base/check.js";
import type { Bridge } from "../bridge.js";

export function certificateCheck(bridge: Bridge): Check {
  return { id: "certificates", title: "The bridge's certificates fit and last", run: () => certificates(bridge) };
}

async function certificates({ pki, address }: Bridge): Promise<Outcome> {
  const { directory, given } = pki;
  if (!existsSync(directory)) {
    const remedy = "Give the directory of ca.crt, server.crt and server.key with --pki.";
    return given ? fail(`${directory} does not exist`, remedy) : skip(`${directory} does not exist here`, remedy);
  }
  const { inspectPath } = await import("../../../../tunnel/pki/inspect/inspect.js");
  const { findings, certificates: found } = await inspectPath(directory, address === undefined ? {} : { address });
  const wrong = findings.filter(({ severity }) => severity === "wrong");
  const [first] = wrong;
  if (first !== undefined) {
    const evidence = wrong.map(({ file, message }) => `${file}: ${message}`).join("; ");
    return fail(evidence, first.remedy, { findings });
  }
  if (found.length === 0) return fail(`${directory} holds no certificate`, "Give the right directory with --pki.");
  const earliest = found.reduce((one, other) => (other.notAfter < one.notAfter ? other : one));
  const about = address === undefined ? "; no address to compare with, see --address" : `, for ${address}`;
  return pass(
    `${found.length} certificates in ${directory}${about}, the first ends ${earliest.notAfter.toISOString()}`,
    {
      warnings: findings,
    },
  );
}
