/** Everything that follows from a model: objects for both clusters, and patches for Deployments of others. */

import { hidden, type KubeManifest } from "../../kube/apply.js";
import { yamlText } from "../../kube/builders.js";
import { joinedParts } from "../../kube/managed-fields.js";
import type { HostedModel } from "../model/model.js";
import { names } from "../model/names.js";
import { controlPlaneAgentObjects, hostedAgentObjects } from "./agents.js";
import { type Certificates, certificateObjects } from "./certificates.js";
import { connectionCheckerObjects } from "./connection-checker.js";
import { keeperPatches } from "./kept.js";
import type { RenderedObject, Side } from "./manifest.js";
import { apiServerComment, apiServerPatch, gracePart, movedPart, serverConfigMaps, serverFragment } from "./server.js";
import { agentRoute, agentService, aggregatedApiObjects, localService, networkPolicies } from "./services.js";
import { sidecarPatches } from "./sidecars.js";

/** For somebody else's Deployment in the control plane's namespace; never applied by us. */
interface RenderedPatch {
  /** The Deployment. */
  readonly component: string;
  readonly file: string;
  readonly comment: string;
  readonly document: object;
}

export interface Rendering {
  /** In the order in which they are needed. */
  readonly objects: readonly RenderedObject[];
  readonly patches: readonly RenderedPatch[];
}

/** What makes an address that agents can dial. */
export function publishedObjects(model: HostedModel): RenderedObject[] {
  return [agentService(model), ...(model.publishing.type === "Route" ? [agentRoute(model)] : [])];
}

/** Without certificates their Secrets and bundles are left out. */
export function renderHosted(model: HostedModel, certificates?: Certificates): Rendering {
  const kept = keeperPatches(model);
  if (kept !== undefined) {
    const { resource, swapIn, swapBack } = kept;
    const comment = `For: kubectl patch ${resource} ${model.name} --type merge --patch-file THIS_FILE`;
    return {
      objects: [],
      patches: [
        patch(resource, resource, comment, swapIn),
        patch(resource, `${resource}-back`, `${comment}\nThe operator's own programs again.`, swapBack),
      ],
    };
  }
  return {
    objects: [
      ...certificateObjects(model, "control-plane", certificates),
      ...serverConfigMaps(model),
      ...localService(model),
      ...publishedObjects(model),
      ...controlPlaneAgentObjects(model, certificates),
      ...certificateObjects(model, "hosted", certificates),
      ...hostedAgentObjects(model, certificates),
      ...connectionCheckerObjects(model),
      ...aggregatedApiObjects(model),
      ...networkPolicies(model),
    ],
    patches: [
      patch(
        ...([names.apiServer, names.apiServer, apiServerComment(model)] as const),
        joinedParts(joinedParts(apiServerPatch(model, certificates), gracePart), movedPart(model)),
      ),
      patch(
        names.apiServer,
        `${names.server}-container`,
        "The same container with its volumes, for a pod that you write yourself.",
        serverFragment(model),
      ),
      ...(model.profile.hasComponents ? sidecarPatches(model) : []).map(([component, document]) => {
        const comment = `For: kubectl patch deployment ${component} --type strategic --patch-file THIS_FILE`;
        return patch(component, component, comment, document);
      }),
    ],
  };
}

const patch = (component: string, file: string, comment: string, document: object): RenderedPatch => ({
  ...{ component, file: `patches/${file}.yaml`, comment, document },
});

/** The manifest without the values of a Secret, which are shown only when a flag asks for them. */
export function withHiddenValues(manifest: KubeManifest): KubeManifest {
  if (manifest.kind !== "Secret") return manifest;
  const data = Object.entries((manifest.data ?? {}) as Readonly<Record<string, string>>);
  return { ...manifest, data: Object.fromEntries(data.map(([key, value]) => [key, hidden(value)])) };
}

export function hostedFiles({ objects, patches }: Rendering) {
  return [
    ...objects.map(({ side, manifest }) => ({
      name: `${side}/${manifest.kind.toLowerCase()}-${manifest.metadata.name}.yaml`,
      text: yamlText(manifest),
      mode: manifest.kind === "Secret" ? 0o600 : 0o644,
    })),
    ...patches.map(({ file, comment, document }) => ({ name: file, text: yamlText(document, comment), mode: 0o644 })),
  ];
}

/** One stream of documents, for `kubectl apply -f -` where it is one cluster's. */
export function renderedStream(objects: readonly RenderedObject[], patches: readonly RenderedPatch[]): string {
  return [
    ...objects.map(({ side, manifest }) => yamlText(manifest, placeOf(side))),
    ...patches.map(({ document, comment }) => yamlText(document, comment)),
  ].join("---\n");
}

const placeOf = (side: Side): string => (side === "hosted" ? "hosted cluster" : "management cluster");
