/** The NodePool resource for clusters without HyperShift: a schema of our own for the fields that platform None has. */

import type { KubeManifest } from "../../kube/apply.js";
import { CRD_NAME, OWNER_LABEL, OWNER_NAME } from "../controller/hypershift.js";

const text = { type: "string" } as const;
const count = { type: "integer", format: "int32" } as const;
const immutable = (what: string) => ({
  rule: "self == oldSelf",
  message: `${what} must not change; make another pool instead`,
});
const numberOrPercent = {
  "x-kubernetes-int-or-string": true,
  pattern: "^((100|[0-9]{1,2})%|[0-9]+)$",
  anyOf: [{ type: "integer" }, { type: "string" }],
} as const;
const references = {
  type: "array",
  maxItems: 10,
  items: { type: "object", required: ["name"], properties: { name: { ...text, minLength: 1 } } },
} as const;

const management = {
  type: "object",
  required: ["upgradeType"],
  properties: {
    upgradeType: { ...text, enum: ["Replace", "InPlace"], "x-kubernetes-validations": [immutable("upgradeType")] },
    replace: {
      type: "object",
      properties: {
        strategy: { ...text, enum: ["RollingUpdate", "OnDelete"] },
        rollingUpdate: {
          type: "object",
          properties: { maxSurge: numberOrPercent, maxUnavailable: numberOrPercent },
        },
      },
    },
    inPlace: { type: "object", properties: { maxUnavailable: numberOrPercent } },
    autoRepair: { type: "boolean" },
  },
  "x-kubernetes-validations": [
    { rule: "self.upgradeType != 'Replace' || has(self.replace)", message: "replace must be present for Replace" },
    { rule: "self.upgradeType == 'InPlace' || !has(self.inPlace)", message: "inPlace goes with InPlace only" },
  ],
};

const spec = {
  type: "object",
  required: ["clusterName", "release", "platform", "management"],
  properties: {
    clusterName: {
      ...text,
      minLength: 1,
      maxLength: 253,
      pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
      "x-kubernetes-validations": [immutable("clusterName")],
    },
    release: { type: "object", required: ["image"], properties: { image: { ...text, minLength: 1 } } },
    platform: {
      type: "object",
      required: ["type"],
      properties: { type: { ...text, enum: ["None"], "x-kubernetes-validations": [immutable("type")] } },
    },
    arch: {
      ...text,
      default: "amd64",
      enum: ["amd64", "arm64"],
      "x-kubernetes-validations": [immutable("arch")],
    },
    replicas: { ...count, minimum: 0 },
    autoScaling: {
      type: "object",
      required: ["min", "max"],
      properties: { min: { ...count, minimum: 1 }, max: { ...count, minimum: 1 } },
      "x-kubernetes-validations": [{ rule: "self.max >= self.min", message: "max must not be smaller than min" }],
    },
    management,
    config: references,
    tuningConfig: references,
    nodeLabels: { type: "object", additionalProperties: text },
    taints: { type: "array", items: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
    pausedUntil: text,
    osImageStream: {
      type: "object",
      required: ["name"],
      properties: { name: { ...text, enum: ["rhel-9", "rhel-10"] } },
    },
  },
  "x-kubernetes-validations": [
    { rule: "!(has(self.replicas) && has(self.autoScaling))", message: "replicas and autoScaling exclude each other" },
  ],
};

const status = {
  type: "object",
  properties: {
    replicas: count,
    version: text,
    conditions: {
      type: "array",
      items: {
        type: "object",
        required: ["type", "status", "lastTransitionTime"],
        properties: {
          type: text,
          status: { ...text, enum: ["True", "False", "Unknown"] },
          reason: text,
          message: text,
          lastTransitionTime: { ...text, format: "date-time" },
          observedGeneration: { type: "integer", format: "int64" },
        },
      },
    },
  },
};

/** The schema of a NodePool. */
export const nodePoolShape = { type: "object", required: ["spec"], properties: { spec, status } };

const column = (name: string, jsonPath: string) => ({ name, type: "string", jsonPath });
const conditionColumn = (name: string, type: string) => column(name, `.status.conditions[?(@.type=="${type}")].status`);

export const nodePoolResource: KubeManifest = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: CRD_NAME, labels: { [OWNER_LABEL]: OWNER_NAME } },
  spec: {
    group: "hypershift.openshift.io",
    scope: "Namespaced",
    names: {
      kind: "NodePool",
      listKind: "NodePoolList",
      plural: "nodepools",
      singular: "nodepool",
      shortNames: ["np"],
    },
    versions: [
      {
        name: "v1beta1",
        served: true,
        storage: true,
        subresources: { status: {} },
        additionalPrinterColumns: [
          column("Cluster", ".spec.clusterName"),
          column("Version", ".status.version"),
          conditionColumn("Config", "ValidMachineConfig"),
          conditionColumn("Payload", "ValidGeneratedPayload"),
          conditionColumn("Reached", "ReachedIgnitionEndpoint"),
        ],
        schema: { openAPIV3Schema: nodePoolShape },
      },
    ],
  },
};
