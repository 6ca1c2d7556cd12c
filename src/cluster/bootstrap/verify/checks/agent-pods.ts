/** What the cluster says about the agents' pods: why one of them may not be connected. */
import type { KubeApi, KubeObject } from "../../../kube/port.js";
import { AGENT_NAME } from "../../model/names.js";
import { type Condition, isTrue } from "./conditions.js";

interface AgentPod extends KubeObject {
  readonly spec?: { readonly nodeName?: string };
  readonly status?: {
    readonly phase?: string;
    readonly conditions?: readonly Condition[];
    readonly containerStatuses?: readonly { readonly state?: { readonly waiting?: { readonly reason?: string } } }[];
  };
}

export class AgentPods {
  readonly #pods: readonly AgentPod[];

  private constructor(pods: readonly AgentPod[]) {
    this.#pods = pods;
  }

  /** Pods that cannot be listed are as good as none. */
  static async list(api: KubeApi, namespace: string, signal: AbortSignal): Promise<AgentPods> {
    const options = { labelSelector: `app=${AGENT_NAME}`, signal };
    const pods = await api.list<AgentPod>(`/api/v1/namespaces/${namespace}/pods`, options).catch(() => undefined);
    return new AgentPods(pods?.items ?? []);
  }

  isReadyOn(node: string): boolean {
    return isTrue(this.#on(node)?.status?.conditions, "Ready");
  }

  stateOn(node: string): string {
    const pod = this.#on(node);
    if (pod === undefined) return "no agent's pod there";
    if (this.isReadyOn(node)) return "its agent is ready, but not at this server";
    const { phase = "Unknown", containerStatuses = [] } = pod.status ?? {};
    const reason = containerStatuses.map(({ state }) => state?.waiting?.reason).find((word) => word !== undefined);
    if (reason === undefined && phase === "Running") return `${pod.metadata?.name} runs but is not connected`;
    return `${pod.metadata?.name} is ${reason ?? phase}`;
  }

  #on(node: string): AgentPod | undefined {
    return this.#pods.find(({ spec }) => spec?.nodeName === node);
  }
}
