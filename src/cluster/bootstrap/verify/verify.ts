/** `drawbridge bootstrap verify`: every check, in an order in which the first failure is the likeliest cause. */
import { type Check, skip } from "../../../base/check.js";
import type { KubeApi } from "../../kube/port.js";
import { type RehearsalSelection, rehearsals } from "../rehearsal/rehearsal.js";
import { hostProcesses, type Processes } from "../settings/programs.js";
import { type Bridge, type BridgeDescription, describeBridge } from "./bridge.js";
import { agentPortCheck } from "./checks/agent-port.js";
import { agentPodsCheck, agentsCheck } from "./checks/agents.js";
import { certificateCheck } from "./checks/certificates.js";
import { type ApiAccess, apiCheck } from "./checks/cluster-api.js";
import { egressChecks } from "./checks/egress.js";
import { type FarHost, farHostCheck, ONLY_THERE } from "./checks/far-host.js";
import { frontDoorChecks } from "./checks/front-door.js";
import { serverChecks } from "./checks/server.js";
import { runChecks, type TimedResult } from "./run-checks.js";
import { testWebhookCheck } from "./test-webhook/check.js";

export interface VerifyOptions {
  readonly bridge: BridgeDescription;
  readonly access: ApiAccess;
  /** Asked from a workstation: this host is not the bridge's; another is, if anybody knows where. */
  readonly elsewhere?: { readonly bootstrap: FarHost | undefined } | undefined;
  readonly rehearse: RehearsalSelection;
  readonly testWebhook: { readonly image: string } | undefined;
  readonly processes?: Processes;
}

/** Webhooks are independent of each other, and each may take up to 30 s to say nothing. */
const REHEARSALS_AT_ONCE = 4;

export async function verify(options: VerifyOptions, signal: AbortSignal): Promise<TimedResult[]> {
  const { access, elsewhere, testWebhook, processes = hostProcesses } = options;
  const here = elsewhere === undefined ? processes : async () => [];
  const bridge = await describeBridge(options.bridge, here, access.api, signal);
  const cluster = await runChecks([apiCheck(access)], signal);
  const api = cluster[0]?.status === "pass" ? access.api : undefined;
  const asked = elsewhere === undefined ? hostChecks(bridge, api) : farChecks(elsewhere.bootstrap, bridge, api);
  const host = await runChecks(asked, signal);
  const mayDial = elsewhere === undefined || options.bridge.frontend !== undefined;
  if (api === undefined || !mayDial) {
    const why = api === undefined ? "the cluster cannot be asked, see cluster-api" : ONLY_THERE;
    return [...host, ...cluster, ...(await runChecks(notRehearsed(options, why), signal))];
  }
  const planned = await rehearsals(bridge, api, options.rehearse, signal);
  const rehearsed = await runChecks(planned, signal, REHEARSALS_AT_ONCE);
  const proof = testWebhook === undefined ? [] : [testWebhookCheck(bridge, api, testWebhook.image)];
  return [...host, ...cluster, ...rehearsed, ...(await runChecks(proof, signal))];
}

function hostChecks(bridge: Bridge, api: KubeApi | undefined): Check[] {
  return [
    ...serverChecks(bridge),
    ...frontDoorChecks(bridge),
    agentPortCheck(bridge),
    certificateCheck(bridge),
    ...egressChecks(bridge),
    agentsCheck(bridge, api),
  ];
}

function farChecks(bootstrap: FarHost | undefined, bridge: Bridge, api: KubeApi | undefined): Check[] {
  return [farHostCheck(bootstrap), ...(api === undefined ? [] : [agentPodsCheck(bridge, api)])];
}

function notRehearsed({ testWebhook }: VerifyOptions, why: string): Check[] {
  const unasked = async () => skip(why);
  return [
    { id: "webhooks", title: "Admission and conversion webhooks and aggregated APIs", run: unasked },
    ...(testWebhook === undefined
      ? []
      : [{ id: "test-webhook", title: "The kube-apiserver calls a test webhook through the tunnel", run: unasked }]),
  ];
}
