/** The webhook's rule: whatever is labelled `bridge: closed` is refused. */
export const RULE = { label: "bridge", refused: "closed", message: "the bridge is closed" } as const;

export interface AdmissionReview {
  readonly apiVersion: string;
  readonly kind: string;
  readonly request?: {
    readonly uid: string;
    readonly object?: { readonly metadata?: { readonly labels?: Readonly<Record<string, string>> } };
  };
  readonly response?: {
    readonly uid: string;
    readonly allowed: boolean;
    readonly warnings?: readonly string[];
    readonly status?: { readonly code: number; readonly message: string };
  };
}

/** Answers a review; undefined when the text is none. `witness` says who answered. */
export function review(text: string, witness: string): AdmissionReview | undefined {
  const asked = parse(text);
  if (asked?.kind !== "AdmissionReview" || asked.request === undefined) return undefined;
  const { apiVersion, kind, request } = asked;
  const refused = request.object?.metadata?.labels?.[RULE.label] === RULE.refused;
  const verdict = refused
    ? { allowed: false, status: { code: 403, message: RULE.message } }
    : { allowed: true, warnings: [witness] };
  return { apiVersion, kind, response: { uid: request.uid, ...verdict } };
}

function parse(text: string): AdmissionReview | undefined {
  try {
    return JSON.parse(text) as AdmissionReview;
  } catch {
    return undefined;
  }
}
