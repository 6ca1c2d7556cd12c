/** `drawbridge bootstrap verify`: every check of a bridge, in an order in which the first failure is the likeliest cause. */
import { messageOf } from "../../base/errors/error.js";
import { type Finding, failed, hasFailed, ok, skipped } from "../../base/finding.js";
import type { TarEntry } from "../../base/tar.js";
import { hostProcesses, type Processes } from "../../cluster/bootstrap/settings/programs.js";
import { SshFailure } from "../../cluster/bootstrap/ssh/ssh.js";
import { proveWithTestWebhook } from "../../cluster/bootstrap/test-webhook/prove.js";
import type { KubeApi } from "../../cluster/kube/port.js";
import { analyzeHost } from "./analyze.js";
import { collectBundle } from "./bundle/collect.js";
import { type Check, defineCheck } from "./check.js";
import { serviceObservations } from "./checks/bootstrap-host.js";
import * as bridge from "./checks/bridge.js";
import { certificates, serverReachable } from "./checks/certificates.js";
import { apiAccess } from "./checks/cluster.js";
import { egressAgreement } from "./checks/egress.js";
import { socketFile } from "./checks/host.js";
import { running } from "./checks/programs.js";
import { action, type RehearsalSelection, rehearsals } from "./rehearsal/rehearsal.js";
import { gathererOf, runChecks } from "./run.js";
import {
  type Bridge,
  type BridgeApi,
  type BridgeDescription,
  bridgeClusterSource,
  bridgeSource,
  describeBridge,
} from "./sources/bridge.js";

/** The bootstrap host, seen from a workstation. */
export interface GatheredHost {
  /** Its address. */
  readonly name: string;
  /** The files that a gather would take from it. Throws DB_SSH. */
  files(timeoutMs: number): AsyncIterable<TarEntry>;
}

export interface BridgeVerification {
  readonly bridge: BridgeDescription;
  readonly access: BridgeApi;
  /** From a workstation: the server is not on this host but on another one, if it is known where. */
  readonly remote?: { readonly host: GatheredHost | undefined } | undefined;
  readonly rehearse: RehearsalSelection;
  readonly testWebhook: { readonly image: string } | undefined;
  readonly processes?: Processes;
}

const ofHost: readonly Check[] = [
  ...[running, socketFile, bridge.serverProtocol, serverReachable, certificates],
  ...[egressAgreement, bridge.apiServerFlag, bridge.agentsOnNodes],
];

const ONLY_THERE = "only the server's own host can tell; run drawbridge bootstrap verify there";
/** Webhooks are independent of each other, and each may take up to 30 s until it times out. */
const REHEARSALS_AT_ONCE = 4;

export async function verifyBridge(options: BridgeVerification, signal: AbortSignal): Promise<Finding[]> {
  const { access, remote, processes = hostProcesses } = options;
  const found = await describeBridge(options.bridge, remote ? async () => [] : processes, access.api, signal);
  const source = gathererOf((remote ? bridgeClusterSource : bridgeSource)(found, access), signal);
  const [api] = await runChecks([apiAccess], source, { signal });
  const left = await runChecks([bridge.leftovers], source, { signal });
  const usable = api?.state === "ok" ? access.api : undefined;
  const host = remote
    ? [
        ...(await checkRemoteHost(remote.host, signal)),
        ...(await runChecks([bridge.agentsOnNodes], source, { signal })),
      ]
    : await runChecks(ofHost, source, { signal });
  // Of a bridge that is gone nothing else can work.
  const [first, last] = hasFailed(left) ? [left, []] : [[], left];
  return [...first, ...host, ...(api ? [api] : []), ...last, ...(await checkCalls(options, found, usable, signal))];
}

async function checkCalls(
  { bridge: given, remote, rehearse, testWebhook }: BridgeVerification,
  found: Bridge,
  api: KubeApi | undefined,
  signal: AbortSignal,
): Promise<Finding[]> {
  const isDialable = remote === undefined || given.frontend !== undefined;
  const proof = "The kube-apiserver calls a test webhook through the tunnel";
  if (api === undefined || !isDialable) {
    const why = api === undefined ? "the cluster cannot be asked, see kubeconfig" : ONLY_THERE;
    const unasked = [
      action("webhooks", "Admission and conversion webhooks and aggregated APIs", skipped(why)),
      ...(testWebhook === undefined ? [] : [action("test-webhook", proof, skipped(why))]),
    ];
    return runChecks(unasked, {}, { signal });
  }
  const calls = await rehearsals(found, api, rehearse, signal);
  const rehearsed = await runChecks(calls, {}, { signal, atOnce: REHEARSALS_AT_ONCE });
  if (testWebhook === undefined) return rehearsed;
  const tested = { ...found, topology: found.model.for };
  const prove = action("test-webhook", proof, (stop) => proveWithTestWebhook(tested, api, testWebhook.image, stop));
  return [...rehearsed, ...(await runChecks([{ ...prove, cleansUp: true }], {}, { signal }))];
}

const GATHER_MS = 60_000;

/** The findings on the files that a gather would take from the bootstrap host, or one on the host as a whole. */
export function checkRemoteHost(host: GatheredHost | undefined, signal: AbortSignal): Promise<Finding[]> {
  const check = defineCheck({
    id: "host",
    about: "Server, certificates and egress configuration of the bootstrap host are in order",
    needs: [],
    async judge() {
      if (host === undefined) return skipped(ONLY_THERE);
      try {
        const bundle = await collectBundle(host.files(GATHER_MS));
        const observations = serviceObservations(bundle);
        const state = observations.length === 0 ? "" : `; ${observations.join(" ").replace(/\.$/, "")}`;
        const all = (await analyzeHost(bundle)).filter(({ likelihood }) => likelihood !== "possible");
        // Of a bridge that is gone only what it left behind is of interest.
        const causes = bundle.isTakenDown ? all.filter(({ check }) => check === "cleanup-failed") : all;
        if (bundle.isTakenDown && causes.length === 0)
          return skipped(`bootkube has taken the bridge down on ${host.name}${state}`);
        if (causes.length === 0) return ok(`nothing is wrong on ${host.name}${state}`);
        return causes.map((finding) => ({ ...finding, subject: host.name }));
      } catch (reason) {
        if (!(reason instanceof SshFailure)) throw reason;
        const remedy = "Let this host reach its SSH port, or run drawbridge bootstrap verify there.";
        // A firewall in between is more likely than a host that is gone, and neither shows anything about the bridge.
        if (reason.isAway) return skipped(messageOf(reason), remedy);
        return { ...failed(messageOf(reason), reason.remedy), code: reason.code };
      }
    },
  });
  return runChecks([check], {}, { signal, deadlineMs: GATHER_MS + 5_000 });
}
