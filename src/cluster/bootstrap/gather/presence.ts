import { existsSync } from "node:fs";
import { DEFAULT_STATE_DIRECTORY } from "../host/record.js";
import { bridgeModel } from "../model/model.js";
import { openshiftHost, topologies } from "../model/names.js";

/** Whether this is a host where a bridge is, was or should have been. */
export function bridgeOnThisHost(): boolean {
  const places = topologies.flatMap((topology) => {
    const { paths } = bridgeModel({ for: topology });
    return [paths.socket.host, paths.staticPod, paths.unit, paths.egressConfig.host, paths.pki.host];
  });
  return [...places, openshiftHost.functions, "/usr/local/bin/bootkube.sh", DEFAULT_STATE_DIRECTORY].some(existsSync);
}
