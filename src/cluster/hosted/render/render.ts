/** Everything that follows from a model: objects for both clusters, and patches for Deployments of others. */
import { hasClaims } from "../model/arguments.js";
import type { HostedModel } from "../model/model.js";
import { names } from "../model/names.js";
import { aggregatedApiObjects } from "./aggregated-apis.js";
import { type Certificates, controlPlaneCertificates, hostedCertificates } from "./certificates.js";
import { connectionCheckerObjects } from "./connection-checker.js";
import { controlPlaneAgentObjects } from "./control-plane-agent.js";
import { claimsConfigMap, egressConfigMap } from "./egress.js";
import { hostedAgentObjects } from "./hosted-agent.js";
import type { RenderedObject } from "./manifest.js";
import { networkPolicies } from "./network-policies.js";
import { apiServerComment, apiServerPatch, serverFragment } from "./server-container.js";
import { agentRoute, agentService, localService } from "./services.js";
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
export function render(model: HostedModel, certificates?: Certificates): Rendering {
  return {
    objects: [
      ...(certificates === undefined ? [] : controlPlaneCertificates(model, certificates)),
      egressConfigMap(model),
      ...(hasClaims(model) ? [claimsConfigMap(model)] : []),
      localService(model),
      ...publishedObjects(model),
      ...networkPolicies(model),
      ...controlPlaneAgentObjects(model, certificates),
      ...(certificates === undefined ? [] : hostedCertificates(model, certificates)),
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
      ...sidecarPatches(model).map(({ component, document }) => ({
        component,
        file: `patches/${component}.yaml`,
        comment: `For: kubectl patch deployment ${component} --type strategic --patch-file THIS_FILE`,
        document,
      })),
    ],
  };
}
