interface AdmissionReview {
  readonly apiVersion: string;
  readonly request: {
    readonly uid: string;
    readonly object: { readonly metadata: { readonly annotations?: object; readonly labels?: Record<string, string> } };
  };
}

/** Objects with this label are refused, so that an answer from the webhook can be told from no webhook at all. */
export const REFUSE_LABEL = "lab.drawbridge.test/refuse";
export const MUTATED_ANNOTATION = "lab.drawbridge.test/seen";

export function validate({ apiVersion, request }: AdmissionReview): object {
  const refused = request.object.metadata.labels?.[REFUSE_LABEL] !== undefined;
  const verdict = refused ? { allowed: false, status: { message: "refused by the lab's webhook" } } : { allowed: true };
  return { apiVersion, kind: "AdmissionReview", response: { uid: request.uid, ...verdict } };
}

export function mutate({ apiVersion, request }: AdmissionReview): object {
  const { annotations } = request.object.metadata;
  const operations = [
    ...(annotations === undefined ? [{ op: "add", path: "/metadata/annotations", value: {} }] : []),
    { op: "add", path: `/metadata/annotations/${MUTATED_ANNOTATION.replaceAll("/", "~1")}`, value: "yes" },
  ];
  const patch = Buffer.from(JSON.stringify(operations)).toString("base64");
  const response = { uid: request.uid, allowed: true, patchType: "JSONPatch", patch };
  return { apiVersion, kind: "AdmissionReview", response };
}
