/** The documents that configure a pool's machines, in one text that does not depend on the order they came in. */
import { isRecord } from "../../../base/at.js";
import { DrawbridgeError, messageOf } from "../../../base/errors/error.js";
import { readConfig } from "../../ignition/parse.js";
import { findingText } from "../../ignition/problems.js";
import { canonicalYaml, parseKubernetesYaml, splitDocuments } from "../yaml.js";
import { byBytes } from "./pool-hash.js";

/** Where documents come from, for messages: `ConfigMap clusters/extra`. */
export interface ConfigSource {
  readonly where: string;
  /** Undefined while the ConfigMap, or its key, is missing. */
  readonly text: string | undefined;
}

type Manifest = Record<string, unknown> & { metadata: Record<string, unknown> };

const MCO = "machineconfiguration.openshift.io";
const ROLE_LABEL = `${MCO}/role`;
const builtInPools = { matchLabels: { [`${MCO}/mco-built-in`]: "" } };

const kinds: Readonly<Record<string, { readonly versions: readonly string[]; readonly make: Normaliser }>> = {
  MachineConfig: { versions: [`${MCO}/v1`], make: machineConfig },
  KubeletConfig: { versions: [`${MCO}/v1`], make: forBuiltInPools },
  ContainerRuntimeConfig: { versions: [`${MCO}/v1`], make: forBuiltInPools },
  ImageContentSourcePolicy: { versions: ["operator.openshift.io/v1alpha1"], make: verbatim },
  ImageDigestMirrorSet: { versions: ["config.openshift.io/v1"], make: verbatim },
  ClusterImagePolicy: { versions: ["config.openshift.io/v1", "config.openshift.io/v1alpha1"], make: imagePolicy },
};

type Normaliser = (manifest: Manifest, text: string) => string;

/** Throws for the first document that cannot be used. */
export function rawConfig(sources: readonly ConfigSource[]): string {
  const documents = sources.flatMap(({ where, text }) => {
    if (text === undefined) throw unusable(`${where},`, "which spec.config names, is missing or has no key config");
    return splitDocuments(text).map((document, index, all) =>
      normalise(document, all.length === 1 ? where : `document ${index + 1} of ${where}`),
    );
  });
  return documents.sort(byBytes).join("\n---\n");
}

/** Whether any of the documents keeps machines on runc, which the newer stream no longer has. */
export function usesRunc(raw: string): boolean {
  return splitDocuments(raw)
    .map((text) => parseKubernetesYaml(text, "a document") as Manifest)
    .some((manifest) => {
      const spec = manifest.spec as { containerRuntimeConfig?: { defaultRuntime?: unknown } } | undefined;
      return manifest.kind === "ContainerRuntimeConfig" && spec?.containerRuntimeConfig?.defaultRuntime === "runc";
    });
}

function normalise(text: string, where: string): string {
  const manifest = parseKubernetesYaml(text, where);
  if (!isRecord(manifest) || !isRecord(manifest.metadata)) throw unusable(where, "is not a Kubernetes object");
  const { apiVersion, kind } = manifest;
  const known = typeof kind === "string" && Object.hasOwn(kinds, kind) ? kinds[kind] : undefined;
  if (known === undefined) {
    throw unusable(where, `is a ${String(kind)}, and only ${Object.keys(kinds).join(", ")} can configure a pool`);
  }
  if (!known.versions.includes(String(apiVersion))) {
    throw unusable(where, `has apiVersion ${String(apiVersion)}; a ${kind} is of ${known.versions.join(" or ")}`);
  }
  if (typeof manifest.metadata.name !== "string" || manifest.metadata.name === "") {
    throw unusable(where, "has no metadata.name");
  }
  try {
    return known.make(manifest as Manifest, text);
  } catch (reason) {
    throw unusable(where, messageOf(reason), reason);
  }
}

function machineConfig(manifest: Manifest): string {
  const spec = manifest.spec ?? {};
  if (!isRecord(spec)) throw new Error("has a spec that is no object");
  const { config = null } = spec;
  if (config !== null) {
    if (!isRecord(config)) throw new Error("has a spec.config that is no Ignition config");
    const wrong = readConfig(JSON.stringify(config)).findings.find(({ severity }) => severity === "error");
    if (wrong !== undefined) throw new Error(`has an Ignition config that cannot be used: ${findingText(wrong)}`);
  }
  const { labels } = manifest.metadata;
  return canonicalYaml({
    ...manifest,
    metadata: {
      ...manifest.metadata,
      creationTimestamp: null,
      labels: { ...(isRecord(labels) ? labels : {}), [ROLE_LABEL]: "worker" },
    },
    // What the Go type writes even when it is empty.
    spec: {
      baseOSExtensionsContainerImage: "",
      config,
      extensions: null,
      fips: false,
      kernelArguments: null,
      kernelType: "",
      osImageURL: "",
      ...spec,
    },
  });
}

function forBuiltInPools(manifest: Manifest): string {
  const spec = manifest.spec ?? {};
  if (!isRecord(spec)) throw new Error("has a spec that is no object");
  return canonicalYaml({
    ...manifest,
    metadata: { ...manifest.metadata, creationTimestamp: null },
    spec: { ...spec, machineConfigPoolSelector: builtInPools },
    status: { conditions: null },
  });
}

function imagePolicy(manifest: Manifest, text: string): string {
  if (manifest.apiVersion === "config.openshift.io/v1") return text;
  return canonicalYaml({
    ...manifest,
    apiVersion: "config.openshift.io/v1",
    metadata: { ...manifest.metadata, creationTimestamp: null },
  });
}

function verbatim(_manifest: Manifest, text: string): string {
  return text;
}

function unusable(where: string, why: string, cause?: unknown): DrawbridgeError {
  return new DrawbridgeError("DB_NODEPOOL_CONFIG", `${where} ${why}`, { cause });
}
