/** The repairs that `workers doctor --fix` makes. */
import type { Fix } from "../../../base/finding.js";
import { isConflict } from "../../../cluster/kube/errors.js";
import { collectionPath } from "../../../cluster/kube/paths.js";
import { carryOut, decide, noDecisionLog, snapshotOf } from "../../../cluster/nodes/csr/decide.js";
import { requestName } from "../../../cluster/nodes/csr/signing-request.js";
import { pathOf, type Secret } from "../../../cluster/nodes/objects.js";
import { freshUserData } from "../../../cluster/nodes/token/user-data.js";
import type { NetworkCertificate, PoolContext, WorkerState } from "../sources/pool.js";

export type WorkerFixes = ReturnType<typeof fixesOf>;

export function fixesOf(context: PoolContext) {
  return {
    rewriteUserData: (worker: WorkerState) => rewriteUserData(context, worker),
    approveRequest: (name: string) => approveRequest(context, name),
    copyCertificate: (certificate: NetworkCertificate, secret: Secret) => copyCertificate(context, certificate, secret),
  };
}

/** A file that no machine has booted with yet can be written at any time. */
function rewriteUserData({ clusters, store }: PoolContext, { file, userData, worker }: WorkerState): Fix {
  return {
    what: `write ${file} again, with the pool's token and configuration of now`,
    async apply() {
      const known = (await store.read()).find(({ name }) => name === worker.name);
      if (known === undefined || known.leaving !== undefined) return `${worker.name} is not expected any more`;
      const { hash, text } = await freshUserData(clusters.pools, known);
      if (text === userData) return `${file} is as it would be made now`;
      await store.change((all) => all.map((one) => (one.name === worker.name ? { ...one, hash } : one)));
      await store.writeUserData(worker.name, text);
      return `${file} is written; boot the machine with it`;
    },
  };
}

/** As the approver does: everything is read again, since earlier approvals count, and the decision is recorded first. */
function approveRequest({ clusters, inventory, memory, now, policy }: PoolContext, name: string): Fix {
  const api = clusters.nodes;
  return {
    what: `approve ${name}, as drawbridge csr approver would`,
    async apply() {
      const store = memory();
      const look = await snapshotOf({ api, inventory, store }, policy, now());
      const request = look.requests.find((one) => requestName(one) === name);
      const decision = request && decide(request, look.state);
      if (request === undefined || decision === undefined)
        return `${name} was left alone: somebody decided it meanwhile`;
      if (decision.action !== "approve") return `${name} was left alone: ${decision.explanation}`;
      await store.remember(new Map([[decision.node, decision.remember]]));
      const actor = { api, log: noDecisionLog, by: "doctor", mayWrite: () => true };
      const result = await carryOut(actor, request, { ...look.state, memory: store.memory });
      return result.done
        ? `${name} is approved: ${result.decision.explanation}`
        : `${name} was left alone: ${result.because}`;
    },
  };
}

/** Copies only what pods mount: with its annotations, the other cluster's controllers would manage the Secret. */
function copyCertificate(
  { clusters }: PoolContext,
  { from, to }: NetworkCertificate,
  { data = {}, type = "kubernetes.io/tls" }: Secret,
): Fix {
  return {
    what: `copy the Secret ${to.name} from ${from.namespace} of the hosted cluster into ${to.namespace} of the management cluster`,
    async apply() {
      const secret: Secret = { apiVersion: "v1", kind: "Secret", metadata: { ...to }, type, data };
      try {
        await clusters.pools.create(collectionPath("Secret", to.namespace), secret);
        return `the Secret ${pathOf(to)} is there now; pods that wait for it start within two minutes`;
      } catch (reason) {
        if (isConflict(reason)) return `the Secret ${pathOf(to)} was there already`;
        throw reason;
      }
    },
  };
}
