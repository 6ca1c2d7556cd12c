/** The contract of the admin API as something that answers can be held against; the compiler keeps the two in step. */
import type {
  AgentPeer,
  CertificateInfo,
  GatheredFacts,
  ListenerInfo,
  Overview,
  Page,
  PathHealth,
  ProcessInfo,
  Refusal,
  RefusedPeerRow,
  ServerPeer,
  Totals,
  TunnelMarks,
  TunnelRow,
} from "../../../src/insight/observe/admin/contract.js";

/** Every field of a contract's type with what it has to be; whatever may be absent says so. */
export type Shape<Value> = [Value] extends [string]
  ? "string"
  : [Value] extends [number]
    ? "number"
    : [Value] extends [boolean]
      ? "boolean"
      : [Value] extends [readonly (infer Item)[]]
        ? readonly [Shape<Item>]
        : { readonly [Field in keyof Value]-?: ShapeOfField<Value, Field> };

type ShapeOfField<Value, Field extends keyof Value> =
  Record<never, never> extends Pick<Value, Field>
    ? { readonly maybe: Shape<NonNullable<Value[Field]>> }
    : Shape<Value[Field]>;

const maybe = <const Inner>(inner: Inner) => ({ maybe: inner });
const [text, number, yesNo] = ["string", "number", "boolean"] as const;

export const processShape: Shape<ProcessInfo> = {
  ...{ apiVersion: number, role: text, version: text, id: text, instance: text, startedAt: number, now: number },
  ...{ host: maybe(text), pid: maybe(number), ready: yesNo, unreadyReason: maybe(text), draining: yesNo },
  drainingSinceAt: maybe(number),
  ...{ serverCount: maybe(number), strategies: maybe([text]), identifiers: maybe(text) },
  unreadyCauses: maybe([{ sentence: text, code: maybe(text), remedy: maybe(text) }]),
  strategyCounts: maybe([{ name: text, agents: number }]),
};

export const totalsShape: Shape<Totals> = {
  ...{ at: number, bytesToTarget: number, bytesFromTarget: number, tunnelsOpen: number, dialsPending: number },
  ...{ dialsEstablished: number, dialsFailed: number, dialMsSum: number, queuedBytes: number },
  ...{
    dialsWaiting: maybe(number),
    peersRefused: maybe(number),
    payloadsServed: maybe(number),
    fetchesRefused: maybe(number),
  },
};

const pathShape: Shape<PathHealth> = {
  ...{ state: text, checkedAt: maybe(number), roundTripMs: maybe(number), failures: maybe(number), error: maybe(text) },
};

const serverShape: Shape<ServerPeer> = {
  ...{ key: number, id: maybe(text), address: text, drawbridge: maybe(yesNo), version: maybe(text) },
  ...{ connectedAt: maybe(number), roundTripMs: maybe(number), draining: maybe(yesNo), tunnels: maybe(number) },
  ...{ bytesToTarget: maybe(number), bytesFromTarget: maybe(number), queuedBytes: maybe(number) },
  path: maybe(pathShape),
};

const agentShape: Shape<AgentPeer> = {
  ...{ key: number, id: text, identifiers: text, remote: text, principal: maybe(text), drawbridge: yesNo },
  ...{ version: maybe(text), connectedAt: number, roundTripMs: maybe(number), draining: yesNo },
  ...{ demotedUntil: maybe(number), tunnels: number, pendingDials: number, bytesToTarget: number },
  ...{ bytesFromTarget: number, queuedBytes: number, path: maybe(pathShape) },
};

const marksShape: Shape<TunnelMarks> = {
  ...{ dialled: maybe(number), firstDialled: maybe(number), answered: maybe(number), firstByteToTarget: maybe(number) },
  ...{ firstByteFromTarget: maybe(number), callerEnded: maybe(number), targetEnded: maybe(number) },
  ended: maybe(number),
};

export const tunnelShape: Shape<TunnelRow> = {
  ...{
    id: number,
    connectId: maybe(text),
    dialId: maybe(text),
    frontend: maybe(text),
    listener: maybe(text),
    target: text,
  },
  ...{ agent: maybe({ key: number, id: text }), server: maybe({ key: number, id: text }), state: text },
  ...{ askedAt: number, marks: marksShape, bytesToTarget: number, bytesFromTarget: number },
  ...{ sendWindowBytes: maybe(number), receiveWindowBytes: maybe(number), queuedBytes: number, paused: maybe(yesNo) },
  ...{ lastError: maybe(text), endReason: maybe(text), refusalId: maybe(text) },
};

const refusalShape: Shape<Refusal> = {
  ...{ id: text, at: number, target: text, why: text, code: maybe(text), remote: maybe(text) },
};

const certificateShape: Shape<CertificateInfo> = {
  ...{ file: text, use: text, kind: text, subject: text, issuer: text, names: [text], serial: text },
  ...{ fingerprint: text, notBeforeAt: number, notAfterAt: number },
};

const refusedPeerShape: Shape<RefusedPeerRow> = {
  ...{ id: number, listener: text, address: text, code: text, reason: text, remedy: text, count: number },
  ...{ firstAt: number, at: number, acceptedAt: maybe(number), replacedAt: maybe(number), agentId: maybe(text) },
  certificate: maybe({ subject: text, issuer: text, serial: text, notBeforeAt: number, notAfterAt: number }),
};

const listenerShape: Shape<ListenerInfo> = { what: text, address: text };

/** Of a role that asks nowhere else. */
export const overviewShape: Shape<Omit<Overview, keyof GatheredFacts>> = {
  ...{ process: processShape, totals: totalsShape, path: maybe(pathShape) },
  ...{ servers: maybe([serverShape]), agents: maybe([agentShape]), listeners: [listenerShape] },
  ...{ certificates: [certificateShape], refusals: [refusalShape] },
  refusedPeers: maybe([refusedPeerShape]),
  unusedFiles: maybe([{ use: text, files: [text], code: text, reason: text, sinceAt: number }]),
};

const pageOf = <const Item>(item: Item) => ({ items: [item] as const, total: number, next: maybe(number) });

/** By the name of the route. */
export const listShapes = {
  servers: pageOf(serverShape) satisfies Shape<Page<ServerPeer>>,
  agents: pageOf(agentShape) satisfies Shape<Page<AgentPeer>>,
  tunnels: pageOf(tunnelShape) satisfies Shape<Page<TunnelRow>>,
  ended: pageOf(tunnelShape) satisfies Shape<Page<TunnelRow>>,
  refusals: pageOf(refusalShape) satisfies Shape<Page<Refusal>>,
  certificates: pageOf(certificateShape) satisfies Shape<Page<CertificateInfo>>,
  listeners: pageOf(listenerShape) satisfies Shape<Page<ListenerInfo>>,
};

/** Where an answer is not as the contract has it, one line each: what is wrong, what is missing, what nobody promised. */
export function faultsOf(value: unknown, shape: unknown, at = "answer"): string[] {
  if (typeof shape === "string") return typeof value === shape ? [] : [`${at} is no ${shape}`];
  if (Array.isArray(shape)) {
    if (!Array.isArray(value)) return [`${at} is no list`];
    return value.flatMap((item, index) => faultsOf(item, shape[0], `${at}[${index}]`));
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [`${at} is no object`];
  const promised = Object.entries(shape as object).flatMap(([field, inner]: [string, unknown]) => {
    const here = `${at}.${field}`;
    const optional = typeof inner === "object" && inner !== null && "maybe" in inner ? inner.maybe : undefined;
    if (field in value) return faultsOf((value as Record<string, unknown>)[field], optional ?? inner, here);
    return optional === undefined ? [`${here} is missing`] : [];
  });
  const unheardOf = Object.keys(value).filter((field) => !(field in (shape as object)));
  return [...promised, ...unheardOf.map((field) => `${at}.${field} is not in the contract`)];
}
