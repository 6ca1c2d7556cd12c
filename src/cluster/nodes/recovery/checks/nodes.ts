/** Nodes that have joined and are not ready. */

import { label } from "../../objects.js";
import { type Node, whyNotReady } from "../../workers/node.js";
import { type Ailment, fine, trouble, unasked } from "../ailment.js";
import type { Patient } from "../patient.js";

const ID = "node";

export function checkNodes(patient: Patient): Ailment[] {
  const { isLimited, nodes, pool, workers } = patient;
  const remembered = workers.map(({ worker }) => worker.name);
  const labelled = [...nodes].filter(([, { metadata }]) => metadata?.labels?.[label.nodePool] === pool.name);
  const names = new Set([...remembered, ...(isLimited ? [] : labelled.map(([name]) => name))]);
  return [...names].map((name) => ofNode(name, nodes.get(name)));
}

/** Whose names; for the check of the network. */
export function notReady(patient: Patient): string[] {
  return checkNodes(patient).flatMap(({ state, subject }) => (state === "wrong" ? [subject] : []));
}

function ofNode(name: string, node: Node | undefined): Ailment {
  const about = { id: ID, subject: name };
  if (node === undefined) return unasked(about, `${name} has not joined yet`);
  const why = whyNotReady(node);
  if (why === "") return fine(about, `node ${name} is Ready`);
  return trouble(about, { code: "DB_NODE_NOT_READY", finding: `node ${name} is not Ready`, evidence: [why] });
}
