import type { Kubectl } from "../kubectl.js";
import { metric } from "../metrics.js";
import * as objects from "../objects.js";
import type { Outcome } from "../run.js";
import { until } from "../wait.js";
import { commandLine } from "./by-command.js";
import { type ApiHost, type BridgeLab, type BridgeLabOptions, startBridgeLab } from "./lab.js";
import type { WebhookPod } from "./webhook-pod.js";

/** What a kube-apiserver says when it cannot ask a webhook that must answer. */
export const FAILED = "failed calling webhook";
export const WEBHOOK = "validate-in-pod";

/** What must be the same before, during and after a bridge. */
export interface ProductionState {
  readonly pid: number;
  readonly commandLine: string;
  /** How often it called through a proxy-server. */
  readonly egressDials: number;
  /** Who asked the webhook about one write through this kube-apiserver. */
  readonly askedFrom: readonly string[];
}

/** Where bridges are raised and taken away: a lab with a production kube-apiserver, and a webhook that must answer. */
export class Scene {
  readonly lab: BridgeLab;
  readonly production: ApiHost;
  #webhook: WebhookPod | undefined;
  #written = 0;

  private constructor(lab: BridgeLab, production: ApiHost) {
    this.lab = lab;
    this.production = production;
  }

  static async set(options: Pick<BridgeLabOptions, "nodes" | "cni">): Promise<Scene> {
    const lab = await startBridgeLab({ ...options, production: true });
    if (lab.production === undefined) throw new Error("this lab has a production kube-apiserver");
    return new Scene(lab, lab.production);
  }

  get webhook(): WebhookPod {
    if (this.#webhook === undefined) throw new Error("the webhook was not started yet");
    return this.#webhook;
  }

  /** Returns once production's kube-apiserver asks it. */
  async startWebhook(): Promise<void> {
    const { lab, production } = this;
    this.#webhook = await lab.startWebhook();
    const { cert } = lab.plane.ca;
    await lab.apply(objects.validatingWebhook(WEBHOOK, "pod", objects.byService("/validate"), cert));
    await until("the webhook to be in force", 60_000, async () => {
      return (await this.askedFrom(() => this.write(production.admin))).length > 0;
    });
  }

  /** A config map that the webhook of that label has to admit; the bootstrap kube-apiserver unless told otherwise. */
  write(admin: Kubectl = this.lab.bs.admin, hook = "pod"): Promise<Outcome> {
    this.#written += 1;
    return admin.try(["create", "-f", "-"], JSON.stringify(objects.configMap(`write-${this.#written}`, hook)));
  }

  /** The addresses the webhook was asked from meanwhile. */
  async askedFrom(meanwhile: () => Promise<unknown>): Promise<string[]> {
    const before = (await this.webhook.requests("/validate")).length;
    await meanwhile();
    return (await this.webhook.requests("/validate")).slice(before).map(({ from }) => from);
  }

  /** A kube-apiserver's own account of its calls through a proxy-server. */
  async egressMetric(name: string, labels: Readonly<Record<string, string>> = {}, admin = this.lab.bs.admin) {
    return metric(await admin.raw("/metrics"), `apiserver_egress_dialer_${name}`, labels);
  }

  dialFailures(stage: "connect" | "proxy"): Promise<number> {
    return this.egressMetric("dial_failure_count", { stage });
  }

  async productionState(): Promise<ProductionState> {
    const { admin, apiServer } = this.production;
    const { pid } = apiServer.process;
    const askedFrom = await this.askedFrom(() => this.write(admin));
    const egressDials = await this.egressMetric("dial_start_total", {}, admin);
    return { pid, commandLine: commandLine(pid), egressDials, askedFrom };
  }
}
