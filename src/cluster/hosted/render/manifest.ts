/** Objects as they are sent to a cluster. */
import type { Manifest } from "../../kube/apply.js";
import type { HostedModel } from "../model/model.js";
import { AGENT_NAMESPACE, OWNER_LABEL } from "../model/names.js";

/** Which cluster. */
export type Side = "control-plane" | "hosted";

export interface RenderedObject {
  readonly side: Side;
  readonly manifest: Manifest;
  /** Somebody else's object, of which only the named fields are ours: deleting gives those back. */
  readonly isBorrowed: boolean;
}

type Head = Pick<Manifest, "apiVersion" | "kind"> &
  Manifest["metadata"] & {
    /** It is in no namespace. Otherwise, if it names none, it is in its side's own. */
    readonly isClusterWide?: true;
  };

/** An object of ours, with the label that all of them carry. */
export function own(model: HostedModel, side: Side, head: Head, body: object): RenderedObject {
  const { apiVersion, kind, name, labels = {}, annotations } = head;
  const namespace = head.namespace ?? (side === "hosted" ? AGENT_NAMESPACE : model.namespace);
  const manifest = {
    apiVersion,
    kind,
    metadata: {
      name,
      ...(head.isClusterWide ? {} : { namespace }),
      labels: { ...labels, [OWNER_LABEL]: model.namespace },
      ...(annotations === undefined ? {} : { annotations }),
    },
    ...body,
  };
  return { side, manifest, isBorrowed: false };
}
