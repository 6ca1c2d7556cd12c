/** The Ignition server as it runs in a cluster. */

import type { Manifest } from "../../kube/apply.js";
import { OWNER_LABEL, OWNER_NAME } from "../controller/hypershift.js";
import { SERVING_CERTIFICATE_SECRET } from "../objects.js";
import { servingAndClaimRules } from "../permissions.js";
import type { Program } from "./workload.js";

export const IGNITION_SERVER_NAME = "drawbridge-ignition-server";

/** What people put there: how payloads are made (payload.yaml and what it names). */
export const PAYLOAD_CONFIG_MAP = "drawbridge-ignition-payload";

/** The label that it gives this ConfigMap makes an approver beside it read the claims. */
export const CLAIMS_CONFIG_MAP = "drawbridge-claims";
const CERTIFICATE_PATH = "/var/run/secrets/ignition/serving-cert";
const PAYLOAD_PATH = "/etc/drawbridge/payload";
const DOOR = 9090;

export const ignitionServerRules = servingAndClaimRules(CLAIMS_CONFIG_MAP);

export function ignitionServerProgram(namespace: string, metricsPort: number): Program {
  return {
    args: [
      ...["ignition", "serve", `--namespace=${namespace}`],
      ...[`--addr=0.0.0.0:${DOOR}`, `--metrics-addr=0.0.0.0:${metricsPort}`],
      ...[`--payload=${PAYLOAD_PATH}/payload.yaml`, `--claims-configmap=${namespace}/${CLAIMS_CONFIG_MAP}`],
    ],
    healthPort: metricsPort,
    door: DOOR,
    // Two thousand machines at once take half of that.
    memoryLimit: "512Mi",
    volumes: [
      { name: "serving-cert", path: CERTIFICATE_PATH, source: { secret: { secretName: SERVING_CERTIFICATE_SECRET } } },
      { name: "payload", path: PAYLOAD_PATH, source: { configMap: { name: PAYLOAD_CONFIG_MAP } } },
    ],
  };
}

/** Machines come from outside the cluster; how they get in is the cluster's owner's choice. */
export function ignitionService(namespace: string, type: string): Manifest {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: IGNITION_SERVER_NAME, namespace, labels: { [OWNER_LABEL]: OWNER_NAME } },
    spec: {
      type,
      selector: { app: IGNITION_SERVER_NAME },
      ports: [{ name: "ignition", port: 443, targetPort: "door", protocol: "TCP" }],
    },
  };
}
