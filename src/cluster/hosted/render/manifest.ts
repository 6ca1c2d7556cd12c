/** Objects as they are sent to a cluster. */
import type { KubeManifest } from "../../kube/apply.js";
import { kubeManifest } from "../../kube/builders.js";
import { isClusterWide, type Kind } from "../../kube/paths.js";
import type { HostedModel } from "../model/model.js";
import { AGENT_NAMESPACE, HOSTED_LABEL } from "../model/names.js";

/** Which cluster. */
export type Side = "control-plane" | "hosted";

export interface RenderedObject {
  readonly side: Side;
  readonly manifest: KubeManifest;
  /** Somebody else's object, of which only the named fields are ours: deleting gives those back. */
  readonly isBorrowed: boolean;
}

/** An object of ours, with the label that all of them carry; unless it names one, in its side's own namespace. */
export function own(
  model: HostedModel,
  side: Side,
  kind: Kind,
  metadata: KubeManifest["metadata"],
  body: object = {},
): RenderedObject {
  const { labels = {}, namespace = side === "hosted" ? AGENT_NAMESPACE : model.namespace, ...rest } = metadata;
  const place = isClusterWide(kind) ? {} : { namespace };
  const all = { ...rest, ...place, labels: { ...labels, [HOSTED_LABEL]: model.namespace } };
  return { side, manifest: kubeManifest(kind, all, body), isBorrowed: false };
}

interface Program {
  readonly image: string;
  readonly command: readonly string[];
  readonly resources: object;
}

/** A container of one of the programs. */
export const container = <T extends object>(name: string, { image, command, resources }: Program, more: T) => ({
  ...{ name, image, imagePullPolicy: "IfNotPresent", command, ...more, resources },
  terminationMessagePolicy: "FallbackToLogsOnError",
});
