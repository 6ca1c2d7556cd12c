/** The Ignition server as it runs in a cluster. */
import { ownerLabel, ownerName } from "../controller/hypershift.js";
import { servingCertificateSecret } from "../names.js";
import { servingAndClaimRules } from "../serving/permissions.js";
import type { Manifest } from "./manifest.js";
import type { Program } from "./workload.js";

export const ignitionServerName = "drawbridge-ignition-server";

/** What people put there: how payloads are made (payload.yaml and what it names). */
export const payloadConfigMap = "drawbridge-ignition-payload";

/** The label that it gives this ConfigMap makes an approver beside it read the claims. */
export const claimsConfigMap = "drawbridge-claims";
const certificatePath = "/var/run/secrets/ignition/serving-cert";
const payloadPath = "/etc/drawbridge/payload";
const door = 9090;

export const ignitionServerRules = servingAndClaimRules(claimsConfigMap);

export function ignitionServerProgram(namespace: string, metricsPort: number): Program {
  return {
    args: [
      ...["ignition", "serve", `--namespace=${namespace}`],
      ...[`--addr=0.0.0.0:${door}`, `--metrics-addr=0.0.0.0:${metricsPort}`],
      ...[`--payload=${payloadPath}/payload.yaml`, `--claims-configmap=${namespace}/${claimsConfigMap}`],
    ],
    healthPort: metricsPort,
    door,
    // Two thousand machines at once take half of that.
    memoryLimit: "512Mi",
    volumes: [
      { name: "serving-cert", path: certificatePath, source: { secret: { secretName: servingCertificateSecret } } },
      { name: "payload", path: payloadPath, source: { configMap: { name: payloadConfigMap } } },
    ],
  };
}

/** Machines come from outside the cluster; how they get in is the cluster's owner's choice. */
export function ignitionService(namespace: string, type: string): Manifest {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: ignitionServerName, namespace, labels: { [ownerLabel]: ownerName } },
    spec: {
      type,
      selector: { app: ignitionServerName },
      ports: [{ name: "ignition", port: 443, targetPort: "door", protocol: "TCP" }],
    },
  };
}
