/** What verify and up try out: whether nodes run pods. */
import type { VerifyOptions } from "../../cluster/nodes/workers/verify.js";
import { choice } from "../flags/choice.js";
import type { FlagSet } from "../flags/flag-set.js";
import { string } from "../flags/flag-value.js";
import { refused } from "../framework/plain-command.js";

// The return type is inferred: one entry a flag, each with the type its kind gives it.
export function declarePods(set: FlagSet) {
  const words = choice("all", "one", "none");
  return {
    pods: set.add("pods", words, undefined, "Try a pod on all workers, on one, or on none. If empty, all."),
    podImage: set.add("pod-image", string, "registry.k8s.io/pause:3.10", "Its image; it must run without root."),
    podNamespace: set.add("pod-namespace", string, "default", "Where it is made, and removed again."),
  };
}

type PodFlags = ReturnType<typeof declarePods>;

export function checkPods({ podImage, podNamespace }: PodFlags): void {
  for (const { name, value } of [podImage, podNamespace]) {
    if (value.trim() === "") throw refused(`--${name} must not be empty; --pods none tries none`);
  }
}

export function podOf({ podImage, podNamespace, pods }: PodFlags): VerifyOptions["pod"] {
  const { value: on = "all" } = pods;
  return on === "none" ? undefined : { namespace: podNamespace.value, image: podImage.value, on };
}
