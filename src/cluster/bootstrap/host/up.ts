/** Brings a bridge up on this host, or what is missing of it. */
import { type Instructions, instructionsFor } from "./api-server.js";
import type { Host } from "./host.js";
import { announcedApiServers, type Draft, makePlan, refuseSeveral, type UpOptions } from "./plan.js";
import { ApiAccess, type OpenApi, type Progress, runSteps, type Site, type Step, type StepResult } from "./step.js";
import { agentsStep, connectedStep } from "./steps/agents.js";
import { addressStep, certificatesEnd, certificatesStep, directoriesStep, fileStep, placedFile } from "./steps/host.js";
import { apiServerStep } from "./steps/kube-apiserver.js";
import { serverStep } from "./steps/server.js";

export interface UpResult {
  readonly for: string;
  readonly address: string;
  /** ISO 8601: when the certificates end, and with them the bridge. */
  readonly until: string | undefined;
  readonly namespace: string;
  readonly stateDirectory: string;
  readonly steps: readonly StepResult[];
  /** Undefined when the kube-apiserver uses the bridge already. */
  readonly leftToYou: Instructions | undefined;
  readonly warnings: readonly string[];
}

export async function bringUp(host: Host, wishes: UpOptions, openApi: OpenApi, progress: Progress): Promise<UpResult> {
  let isUp = false;
  const object = async ({ options, kubeconfig, context = "", setting }: Draft): Promise<void> => {
    const api = new ApiAccess(host, openApi, { kubeconfig, context }, setting);
    try {
      isUp = await api.clusterReady();
      if (options.for !== "kubeadm" || !isUp || wishes.onlyThisApiServer) return;
      refuseSeveral(await announcedApiServers(await api.cluster()));
    } finally {
      await api.close();
    }
  };
  const { keeper, cluster, choose, choice } = await makePlan(host, wishes, object);
  const { setting } = keeper.record;
  const api = new ApiAccess(host, openApi, cluster, setting);
  try {
    const site: Site = { host, keeper, model: keeper.model, api, timeoutMs: wishes.timeoutMs };
    const steps = stepsOf(site, { apply: wishes.apply || setting.by === "command", isUp, choose });
    const results = await runSteps(steps, keeper, () => host.now(), progress);
    return await resultOf(site, results, choice.warnings);
  } finally {
    await api.close();
  }
}

interface Circumstances {
  readonly apply: boolean;
  readonly isUp: boolean;
  readonly choose: Parameters<typeof addressStep>[1];
}

/** In the order in which they are taken; `status` looks at the same ones. */
export function stepsOf(site: Site, { apply, isUp, choose }: Circumstances): Step[] {
  const { paths } = site.model;
  const egress = fileStep(site, "egress-config", "Egress configuration", placedFile(site, paths.egressConfig.host));
  const tmpfiles =
    paths.tmpfiles === undefined
      ? []
      : [fileStep(site, "tmpfiles", "Socket directory after a reboot", placedFile(site, paths.tmpfiles))];
  const [agents, setting] = [agentsStep(site), apiServerStep(site, apply)];
  return [
    directoriesStep(site),
    addressStep(site, choose),
    certificatesStep(site),
    egress,
    ...tmpfiles,
    serverStep(site),
    // From the moment of the change on all calls into the cluster need agents, so these come first where they can.
    ...(isUp ? [agents, setting] : [setting, agents]),
    connectedStep(site),
  ];
}

async function resultOf(site: Site, steps: readonly StepResult[], warnings: readonly string[]): Promise<UpResult> {
  const { model, keeper } = site;
  const end = await certificatesEnd(site);
  const isLeft = steps.some(({ outcome }) => outcome === "left to you");
  return {
    for: model.for,
    address: model.serverAddresses[0],
    until: end === undefined ? undefined : new Date(end).toISOString(),
    namespace: model.namespace,
    stateDirectory: keeper.directory,
    steps,
    leftToYou: isLeft ? instructionsFor(model, keeper.record.setting) : undefined,
    warnings,
  };
}
