/** Stuck at 511: whether there is a payload to be served, and what keeps it from being made. */

import { pathOf } from "../../objects.js";
import { readTokenSecret } from "../../token/token-secret.js";
import { poolReport } from "../../workers/status.js";
import { type Ailment, fine, trouble } from "../ailment.js";
import type { Patient } from "../patient.js";

export function checkPayload({ hash, object, pool, tokenSecret }: Patient): Ailment[] {
  const about = { id: "payload", subject: pathOf(pool) };
  const code = "DB_NODE_PAYLOAD" as const;
  const complaints = poolReport(about.subject, { hash, pool: object })
    .lacks.map(({ what }) => what)
    // Said in more words below.
    .filter((what) => !what.startsWith("ValidGeneratedPayload"));
  if (hash === "" || tokenSecret === undefined) {
    const finding =
      hash === ""
        ? `pool ${about.subject} has no configuration yet`
        : `pool ${about.subject} has no token Secret for its configuration ${hash}`;
    const remedy = `See that the pool's controller runs; drawbridge nodepool status ${pool.name} shows every condition.`;
    const isSeen = (object.status?.conditions ?? []).length > 0;
    return [trouble(about, { code, finding, evidence: complaints, ...(isSeen ? {} : { remedy }) })];
  }
  const name = `Secret ${tokenSecret.metadata?.namespace}/${tokenSecret.metadata?.name}`;
  const { outcome } = readTokenSecret(tokenSecret);
  if (outcome === undefined) {
    const finding = `no Ignition server has looked at the token of ${about.subject}, so machines get 511`;
    const remedy = `Start drawbridge ignition serve --namespace ${tokenSecret.metadata?.namespace}; beside HyperShift look at its ignition-server.`;
    return [trouble(about, { code, finding, evidence: [`${name} has no key reason`], remedy })];
  }
  if (outcome.reason !== "AsExpected" && outcome.reason !== "PayloadTooLarge") {
    const finding = `no payload can be made for ${about.subject}, so machines get 511: ${outcome.message || outcome.reason}`;
    return [trouble(about, { code, finding, evidence: [`${name}: ${outcome.reason}`, ...complaints] })];
  }
  if (complaints.length > 0) {
    const finding = `pool ${about.subject} is served, but its controller complains: ${complaints[0]}`;
    return [trouble(about, { code, state: "warning", finding, evidence: complaints })];
  }
  return [fine(about, `the payload of ${about.subject} is made`, name)];
}
