/**
 * Runs in the hosted cluster and stamps when the kube-apiserver was last reached from there, as HyperShift's own checker
 * does. The stamp itself goes the same way, so an old one means that workers are cut off.
 */
import { pause, systemClock } from "../../base/clock.js";
import { messageOf } from "../../base/errors/error.js";
import { namedPath, typed } from "../kube/paths.js";
import type { KubeApi } from "../kube/port.js";
import { AGENT_NAMESPACE, names } from "./model/names.js";

/** The ConfigMap that holds when the kube-apiserver was last reached. */
const STAMP = { name: names.connectivityCheck, namespace: AGENT_NAMESPACE };
const STAMP_PATH = namedPath("ConfigMap", STAMP);

type Report = (sentence: string) => void;

/** Checks again and again until the signal fires. */
export async function keepChecking(api: KubeApi, report: Report, everyMs: number, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await checkOnce(api, report);
    await pause(systemClock, everyMs, signal);
  }
}

/** Whether the kube-apiserver was reached and the stamp is set; reports one sentence. */
export async function checkOnce(api: KubeApi, report: Report, now = () => new Date()): Promise<boolean> {
  try {
    await api.get("/version", { timeoutMs: 10_000 });
    const lastSucceeded = now().toISOString();
    const stamp = typed("ConfigMap", { metadata: STAMP, data: { lastSucceeded } });
    await api.apply(STAMP_PATH, stamp, { fieldManager: names.connectionChecker, force: true, timeoutMs: 10_000 });
    report(`the kube-apiserver was reached at ${lastSucceeded}`);
    return true;
  } catch (reason) {
    report(`the kube-apiserver was not reached: ${messageOf(reason)}`);
    return false;
  }
}
