import { messageOf } from "../src/base/errors/error.js";
import type { Frontend } from "./callers/frontends.js";
import type { WebhookRoute } from "./callers/webhook-client.js";
import type { Place } from "./isolation/place.js";
import { admitThroughKubernetes } from "./kubernetes/admission.js";
import { type ControlPlane, findPrograms, startControlPlane } from "./kubernetes/control-plane.js";
import type { Options } from "./options.js";
import type { Pki } from "./pki.js";
import type { Processes } from "./processes/processes.js";
import type { Show } from "./report/show.js";
import { reviewThrough } from "./steps/admission.js";
import type { ProxyServer } from "./tunnel/server.js";

/** Who asks the webhook: a real kube-apiserver where there is one, otherwise a stand-in that asks as it would. */
export class Caller {
  /** For the verdict. */
  name = "stand-in";
  readonly #wanted: Options["caller"];
  #controlPlane: Promise<ControlPlane | Error> | undefined;

  constructor(wanted: Options["caller"]) {
    this.#wanted = wanted;
  }

  /** Starts the kube-apiserver in the background: it takes longer than everything else. */
  prepare(processes: Processes, folder: string, place: Place): void {
    if (this.#wanted === "stand-in") return;
    const programs = findPrograms();
    if (programs === undefined) return;
    const starting = startControlPlane(processes, folder, programs, place);
    this.#controlPlane = starting.catch((reason) => new Error(messageOf(reason)));
  }

  async admit(server: ProxyServer, route: WebhookRoute, place: Place, pki: Pki, show: Show): Promise<void> {
    const frontend = server.frontends.connectUds;
    const controlPlane = await this.#started(show);
    if (controlPlane === undefined) {
      await reviewThrough(frontend, route, show);
      show.result(`a stand-in for kube-apiserver got both answers: ${frontend.title}`);
      return;
    }
    this.name = `kube-apiserver ${controlPlane.version}`;
    await admitThroughKubernetes(controlPlane, place, pki.webhook().ca, show);
    const [tunnel] = await server.admin.tunnels();
    if (tunnel === undefined) throw new Error("the kube-apiserver has no tunnel open: it must have found another way");
    show.note(`the proxy-server's admin API confirms: its connection is carried by ${tunnel.agentId}`);
    show.result(`a real kube-apiserver ${controlPlane.version} got both answers: ${frontend.title}`);
  }

  async admitThrough(frontends: readonly Frontend[], route: WebhookRoute, show: Show): Promise<void> {
    for (const frontend of frontends) await reviewThrough(frontend, route, show);
    show.result(`a stand-in got the same answers: ${frontends.map(({ title }) => title).join("; ")}`);
  }

  /** One that is there but does not start is no failure of the tunnel; the verdict tells who called. */
  async #started(show: Show): Promise<ControlPlane | undefined> {
    if (this.#controlPlane !== undefined)
      show.note("waiting for the kube-apiserver, which was started in the background");
    const controlPlane = await this.#controlPlane;
    if (!(controlPlane instanceof Error)) return controlPlane;
    show.note(`the kube-apiserver could not be used: ${controlPlane.message.split("\n")[0]}`);
    return undefined;
  }
}
