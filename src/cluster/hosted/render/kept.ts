/** Patches for the resource of an operator that makes a control plane's objects itself: our programs in, and its own back. */
import { DRAIN_FLAG, isOurs } from "../model/arguments.js";
import type { HostedModel } from "../model/model.js";

interface KeeperPatches {
  /** The resource, as kubectl names it. */
  readonly resource: string;
  readonly swapIn: object;
  readonly swapBack: object;
}

/** Undefined where nobody else makes the objects. */
export function keeperPatches(model: HostedModel): KeeperPatches | undefined {
  const { name, profile, images } = model;
  const { keeper } = profile;
  if (keeper === undefined) return undefined;
  const document = (programs: object) => ({
    apiVersion: keeper.apiVersion,
    kind: keeper.kind,
    metadata: { name },
    spec: keeper.path.reduceRight((inner, field) => ({ [field]: inner }), programs),
  });
  const agent = {
    ...imageAndTag(images.agent.image),
    ...(isOurs(model) && { extraArgs: [DRAIN_FLAG] }),
  };
  // In a merge patch null takes a field out, and the operator's default is back.
  const nothing = { image: null, version: null, extraArgs: null };
  return {
    resource: keeper.kind.toLowerCase(),
    swapIn: document({ server: imageAndTag(images.server.image), agent }),
    swapBack: document({ server: nothing, agent: nothing }),
  };
}

/** The last colon is the tag's, unless a path follows it. */
function imageAndTag(spec: string): { readonly image: string; readonly version: string } {
  const [, image = spec, version = "latest"] = /^(.+):([^:/]+)$/.exec(spec) ?? [];
  return { image, version };
}
