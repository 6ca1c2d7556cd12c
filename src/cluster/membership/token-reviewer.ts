import type { TokenReviewer, TokenReviewStatus } from "../../tunnel/server/agents/token-auth.js";
import type { KubeApi, KubeObject } from "../kube/port.js";

const REVIEW_TIMEOUT_MS = 10_000;

/** Has the Kubernetes API review agents' tokens. */
export function kubeTokenReviewer(api: KubeApi): TokenReviewer {
  return async (token, audiences, signal) => {
    const review: KubeObject & { spec: object; status?: TokenReviewStatus } = {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenReview",
      spec: { token, audiences },
    };
    const path = "/apis/authentication.k8s.io/v1/tokenreviews";
    return (await api.create(path, review, { timeoutMs: REVIEW_TIMEOUT_MS, signal })).status ?? {};
  };
}
