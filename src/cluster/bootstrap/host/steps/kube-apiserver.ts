/** The kube-apiserver is told of the socket: by us when asked to, otherwise by a person. */
import { DrawbridgeError } from "../../../../base/errors/error.js";
import { createdObjects } from "../../model/created.js";
import { instructionsFor, isInManifest, makeChange, runningApiServers } from "../api-server.js";
import { waitFor } from "../host.js";
import type { Site, Step } from "../step.js";

export function apiServerStep(site: Site, apply: boolean): Step {
  const { host, model, keeper, api, timeoutMs } = site;
  const way = keeper.record.setting;
  const step: Step = {
    name: "kube-apiserver",
    title: "kube-apiserver uses the bridge",
    makes: async () => createdObjects(model).filter(({ type }) => type === "setting"),
    async check() {
      const { using, others } = await runningApiServers(host, model);
      const written = await isInManifest(host, model, way);
      const [process] = using;
      if (process !== undefined && written !== false) {
        return (await api.localReady())
          ? { state: "done", detail: `process ${process.pid} has the flag and is ready` }
          : { state: "missing", detail: `process ${process.pid} has the flag but is not ready` };
      }
      if (process !== undefined) return { state: "missing", detail: "its manifest has lost the flag" };
      if (written) return { state: "missing", detail: "its manifest has the flag, but it does not run with it yet" };
      const seen =
        others.length === 0 ? "no kube-apiserver runs here" : "the kube-apiserver here runs without the flag";
      return { state: "missing", detail: seen };
    },
    async do() {
      if ((await isInManifest(host, model, way)) !== true) await makeChange(host, model, keeper);
      const isSo = async () => (await step.check()).state === "done";
      if (await waitFor(host, host.now() + timeoutMs, isSo, 500)) return;
      const { detail } = await step.check();
      const sentence = `The kube-apiserver did not take up the bridge within ${timeoutMs / 1000} s: ${detail}.`;
      throw new DrawbridgeError("DB_API_SERVER_WAIT", sentence);
    },
  };
  return apply ? step : { ...step, byHand: instructionsFor(model, way).text };
}
