/** The cluster: access to it, and the objects of pools, controllers and the Ignition server. */
import { failed, type Judgement, ok, warning } from "../../../base/finding.js";
import { isLeaseValid } from "../../../cluster/kube/lease.js";
import { nameOf, pathOf, type Secret } from "../../../cluster/nodes/objects.js";
import { readTokenSecret } from "../../../cluster/nodes/token/token-secret.js";
import { poolReport } from "../../../cluster/nodes/workers/status.js";
import { defineCheck } from "../check.js";
import { payloadProblem } from "./user-data.js";

export const apiAccess = defineCheck({
  ...{ id: "kubeconfig", about: "The kubeconfig leads to an API server that answers", needs: ["apiVersion"] },
  judge: ({ apiVersion: { server, version } }) => ok(`the API at ${server} answers (${version})`),
});

export const permissions = defineCheck({
  ...{ id: "permissions", about: "The user may do what a bridge needs", needs: ["missingPermissions", "model"] },
  judge({ missingPermissions: missing, model }) {
    if (missing.length === 0) return ok(`the user may do all that a bridge needs in ${model.namespace}`);
    return failed(
      `the user may not ${missing.join(", ")}`,
      "Use an administrator's kubeconfig, or give the user these verbs: kubectl create clusterrolebinding drawbridge --clusterrole=cluster-admin --user=USER.",
      ...missing.map((what) => `kubectl auth can-i ${what}: no`),
    );
  },
});

export const lease = defineCheck({
  ...{ id: "lease", about: "A controller holds the Lease", needs: ["lease", "program", "now"] },
  judge({ lease: { lease: found, namespace, path }, program: { title }, now }) {
    if (found === undefined) {
      const remedy = `Give the ${title}'s user create, get and update of leases in ${namespace}, and read its log.`;
      return failed(`no ${title} has ever held its Lease, so nothing is decided`, remedy, `${path} does not exist`);
    }
    const { holderIdentity = "", renewTime = "never" } = found.spec ?? {};
    const evidence = `${path}: held by ${holderIdentity || "nobody"}, renewed ${renewTime}`;
    if (holderIdentity !== "" && isLeaseValid(found, now.getTime())) return ok(`a ${title} holds the Lease`, evidence);
    const remedy = `Start a ${title}; one that runs and does not take it over says why in its log (or clocks differ).`;
    return failed(`no ${title} holds the Lease now, so nothing is decided`, remedy, evidence);
  },
});

/** Only the pools themselves: `workers doctor` diagnoses their machines. */
export const pools = defineCheck({
  ...{ id: "pools", about: "The conditions of every pool are in order", needs: ["pools"] },
  judge({ pools: { items, namespace } }) {
    if (items.length === 0) return ok(`there is no pool in ${namespace}`);
    const found = items.flatMap((pool) => {
      const name = nameOf(pool);
      const subject = pathOf(name);
      if ((pool.status?.conditions ?? []).length === 0) {
        const remedy =
          "See the checks lease and health; a controller that leads says in its log why it passes a pool over, a cluster that is missing say.";
        return { ...failed(`no controller has handled pool ${subject}`, remedy, "it has no conditions"), subject };
      }
      // Its conditions also say whether it has a configuration.
      const { problems } = poolReport(subject, { hash: "any", pool });
      const remedy = `Ask drawbridge workers doctor --namespace ${namespace} --pool ${name.name} for the cause.`;
      return problems.map(({ message }) => ({ ...warning(`pool ${subject}: ${message}`, remedy), subject }));
    });
    return found.length > 0 ? found : [ok(`the conditions of ${items.length} pools are in order`)];
  },
});

export const ignitionTokens = defineCheck({
  ...{ id: "ignition-tokens", about: "Every token has a payload", needs: ["tokenSecrets", "now"] },
  judge({ tokenSecrets: { items, namespace }, now }) {
    if (items.length === 0) {
      const message = `no pool has a token Secret in ${namespace}, so every machine gets 511`;
      const remedy = `See that drawbridge nodepool controller runs and its pools are in order: drawbridge nodepool status --namespace ${namespace}.`;
      return failed(message, remedy);
    }
    const found = items.flatMap((secret) => judgeToken(secret, now.getTime()));
    return found.length > 0 ? found : [ok(`the payloads of ${items.length} token Secrets are made`)];
  },
});

function judgeToken(secret: Secret, now: number): Judgement[] {
  const { pool, outcome, expiresAt, token } = readTokenSecret(secret);
  const name = `Secret ${secret.metadata?.name}`;
  const whose = pool === undefined ? name : `pool ${pathOf(pool)}`;
  const remedy = `Ask drawbridge workers doctor${pool === undefined ? "" : ` --namespace ${pool.namespace} --pool ${pool.name}`} for the cause and each machine it concerns.`;
  // It belongs to a former configuration and has expired.
  if (expiresAt !== undefined && !(expiresAt > now)) return [];
  if (token === undefined)
    return [failed(`${whose} has a token Secret without a token, so machines get 511`, remedy, name)];
  if (outcome?.reason === "PayloadTooLarge")
    return [warning(`the payload of ${whose} is large: ${outcome.message || outcome.reason}`, remedy, name)];
  const problem = payloadProblem(secret, whose);
  const isUnread = outcome === undefined ? "See that this server reads that namespace (--namespace). " : "";
  return problem === undefined ? [] : [{ ...problem, remedy: isUnread + remedy }];
}
