/** The kube-apiserver that uses an OpenShift bridge is itself a part of bootstrap, and goes with cluster-bootstrap's end. */
import type { Host } from "../host/host.js";
import { openshiftHost } from "../model/paths.js";
import type { Release } from "./release.js";

/** How far a bootstrap host is, by the marks that bootkube.sh leaves. */
export const atWork = {
  /** The bootstrap kube-apiserver is gone. */
  done: `${openshiftHost.assets}/cb-bootstrap.done`,
  /** Nothing reads the injected scripts any more. */
  through: `${openshiftHost.assets}/.bootkube.done`,
  release: {
    state: "left",
    detail: "cluster-bootstrap has not finished, so the bootstrap kube-apiserver still uses the bridge",
    warnings: ["Wait until bootstrap is complete, or give --force to break its webhooks."],
  } satisfies Release,
} as const;

export function letGo(detail = "the bootstrap kube-apiserver is gone"): Release {
  return { state: "absent", detail, warnings: [] };
}

export async function releaseOpenShift({ files }: Host): Promise<Release> {
  const isHost = (await files.look(openshiftHost.assets)) !== undefined;
  const isAtWork = isHost && (await files.look(atWork.done)) === undefined;
  return isAtWork ? atWork.release : letGo();
}
