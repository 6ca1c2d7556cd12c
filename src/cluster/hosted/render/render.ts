/** Everything that follows from a model: objects for both clusters, and patches for Deployments of others. */

import { hidden, type KubeManifest } from "../../kube/apply.js";
import { yamlText } from "../../kube/builders.js";
import { hasClaims } from "../model/arguments.js";
import type { HostedModel } from "../model/model.js";
import { names } from "../model/names.js";
import { controlPlaneAgentObjects, hostedAgentObjects } from "./agents.js";
import { type Certificates, controlPlaneCertificates, hostedCertificateObjects } from "./certificates.js";
import { connectionCheckerObjects } from "./connection-checker.js";
import type { RenderedObject, Side } from "./manifest.js";
import { apiServerComment, apiServerPatch, claimsConfigMap, egressConfigMap, serverFragment } from "./server.js";
import { agentRoute, agentService, aggregatedApiObjects, localService, networkPolicies } from "./services.js";
import { sidecarPatches } from "./sidecars.js";

/** For somebody else's Deployment in the control plane's namespace; never applied by us. */
export interface RenderedPatch {
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
  return {
    objects: [
      ...(certificates === undefined ? [] : controlPlaneCertificates(model, certificates)),
      egressConfigMap(model),
      ...(hasClaims(model) ? [claimsConfigMap(model)] : []),
      localService(model),
      ...publishedObjects(model),
      ...networkPolicies(model),
      ...controlPlaneAgentObjects(model, certificates),
      ...(certificates === undefined ? [] : hostedCertificateObjects(model, certificates)),
      ...hostedAgentObjects(model, certificates),
      ...connectionCheckerObjects(model),
      ...aggregatedApiObjects(model),
    ],
    patches: [
      {
        component: names.apiServer,
        file: `patches/${names.apiServer}.yaml`,
        comment: apiServerComment,
        document: apiServerPatch(model, certificates),
      },
      {
        component: names.apiServer,
        file: `patches/${names.server}-container.yaml`,
        comment: "The same container with its volumes, for a pod that you write yourself.",
        document: serverFragment(model),
      },
      ...sidecarPatches(model).map(([component, document]) => ({
        component,
        file: `patches/${component}.yaml`,
        comment: `For: kubectl patch deployment ${component} --type strategic --patch-file THIS_FILE`,
        document,
      })),
    ],
  };
}

export interface HostedFile {
  readonly name: string;
  readonly text: string;
  readonly mode: number;
}

/** The manifest without the values of a Secret, which are shown only when a flag asks for them. */
export function withHiddenValues(manifest: KubeManifest): KubeManifest {
  if (manifest.kind !== "Secret") return manifest;
  const data = Object.entries((manifest.data ?? {}) as Readonly<Record<string, string>>);
  return { ...manifest, data: Object.fromEntries(data.map(([key, value]) => [key, hidden(value)])) };
}

export function hostedFiles({ objects, patches }: Rendering): HostedFile[] {
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
