import type { TokenReviewer, TokenReviewStatus } from "../../tunnel/server/agents/token-auth.js";
import { KubeApiError } from "../kube/errors.js";
import { collectionPath, typed } from "../kube/paths.js";
import type { KubeApi, KubeObject } from "../kube/port.js";

const REVIEW_TIMEOUT_MS = 10_000;

/** Has the Kubernetes API review agents' tokens. */
export function kubeTokenReviewer(api: KubeApi): TokenReviewer {
  return async (token, audiences, signal) => {
    const review: KubeObject & { spec: object; status?: TokenReviewStatus } = { spec: { token, audiences } };
    const options = { timeoutMs: REVIEW_TIMEOUT_MS, signal };
    try {
      return (await api.create(collectionPath("TokenReview"), typed("TokenReview", review), options)).status ?? {};
    } catch (reason) {
      if (!(reason instanceof KubeApiError) || reason.status !== 403) throw reason;
      const sentence = `${reason.message}; bind the user of this server's kubeconfig to the ClusterRole system:auth-delegator`;
      throw new KubeApiError(sentence, { status: reason.status, reason: reason.reason, detail: reason.detail });
    }
  };
}
