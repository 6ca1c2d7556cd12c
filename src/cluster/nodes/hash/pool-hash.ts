/** The hashes by which a pool's Secrets are named, and the documents of its configuration that they are made of. */
import { isRecord } from "../../../base/at.js";
import { DrawbridgeError, messageOf } from "../../../base/errors/error.js";
import { readConfig } from "../../ignition/parse.js";
import { findingText } from "../../ignition/problems.js";
import { canonicalYaml, parseKubernetesYaml, splitDocuments } from "../yaml.js";

/** The inputs of a hash. The pull secret and the trust bundle count by name: an edit in place changes no hash. */
type HashInput = Readonly<
  Record<"rawConfig" | "releaseVersion" | "pullSecretName" | "trustBundleName" | "globalConfig" | "stream", string>
>;

export function poolHashes(input: HashInput) {
  const { rawConfig, releaseVersion, pullSecretName, trustBundleName, globalConfig, stream } = input;
  return {
    /** The hash in the names of the pool's Secrets. */
    full: fnv1a(rawConfig + releaseVersion + pullSecretName + trustBundleName + globalConfig + stream),
    /** Does not change with the release, nor, deliberately, with the cluster's configuration. */
    withoutVersion: fnv1a(rawConfig + pullSecretName + trustBundleName + stream),
  };
}

/** Which operating system machines boot: what the pool wants, else the default of version and runtime. */
export function effectiveStream(wanted: string, releaseVersion: string, usesRunc: boolean): string {
  if (wanted === "") return defaultStream(releaseVersion, usesRunc);
  if (wanted !== OLD_STREAM && usesRunc) throw unusable(wanted, "has no runc, which a ContainerRuntimeConfig asks for");
  if (wanted !== OLD_STREAM && defaultStream(releaseVersion, false) === OLD_STREAM) {
    throw unusable(wanted, `comes with release 5.0, and this one is ${releaseVersion}`);
  }
  return wanted;
}

/** The default leaves no trace, so that naming it changes nothing. */
export function hashedStream(effective: string, releaseVersion: string, usesRunc: boolean): string {
  return effective === defaultStream(releaseVersion, usesRunc) ? "" : effective;
}

const OLD_STREAM = "rhel-9";

/** Only the older one has runc. */
function defaultStream(releaseVersion: string, usesRunc: boolean): string {
  return isAtLeast(parseVersion(releaseVersion), 5, 0) && !usesRunc ? "rhel-10" : OLD_STREAM;
}

/** HyperShift hashes what Go prints for a slice of bytes, not the bytes; its Ignition server compares with that. */
export function pullSecretHash(content: Uint8Array): string {
  return fnv1a(`[${[...content].join(" ")}]`);
}

export function trustBundleHash(pem: string): string {
  return fnv1a(pem);
}

/** The order of HyperShift's type; parts it does not know come last, by name. */
const PART_ORDER = [
  ...["apiServer", "authentication", "featureGate", "image", "ingress"],
  ...["network", "oauth", "operatorhub", "scheduler", "proxy"],
];

/**
 * Byte for byte HyperShift's for no configuration and for the parts machines read (proxy, image); elsewhere members go
 * by name, since their Go types are not known here, and the hash is only as stable as it must be.
 */
export function configurationHash(configuration: ClusterConfiguration | undefined): string {
  if (configuration === undefined) return fnv1a("null");
  const present = Object.keys(configuration).filter((name) => configuration[name] !== undefined);
  const others = present.filter((name) => !PART_ORDER.includes(name)).sort();
  const names = [...PART_ORDER.filter((name) => present.includes(name)), ...others];
  const made: Readonly<Record<string, () => unknown>> = {
    proxy: () => proxySpec(configuration.proxy),
    image: () => imageSpec(configuration.image),
  };
  return fnv1a(goJson(Object.fromEntries(names.map((name) => [name, made[name]?.() ?? sorted(configuration[name])]))));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(members.map(([name, member]) => [name, sorted(member)]));
}

type Texts = readonly string[];

interface ProxySpec {
  readonly httpProxy?: string;
  readonly httpsProxy?: string;
  readonly noProxy?: string;
  readonly readinessEndpoints?: Texts;
  readonly trustedCA?: { readonly name?: string };
}

interface ImageSpec {
  readonly allowedRegistriesForImport?: readonly { readonly domainName?: string; readonly insecure?: boolean }[];
  readonly externalRegistryHostnames?: Texts;
  readonly additionalTrustedCA?: { readonly name?: string };
  readonly registrySources?: Readonly<Partial<Record<(typeof REGISTRY_LISTS)[number], Texts>>>;
  readonly imageStreamImportMode?: string;
}

const REGISTRY_LISTS = [
  ...(["insecureRegistries", "blockedRegistries"] as const),
  ...(["allowedRegistries", "containerRuntimeSearchRegistries"] as const),
];

/** `spec.configuration` of a HostedCluster, or the key `configuration` of our ConfigMap for a cluster. */
export interface ClusterConfiguration {
  readonly proxy?: ProxySpec;
  readonly image?: ImageSpec;
  readonly apiServer?: { readonly tlsSecurityProfile?: unknown };
  readonly [part: string]: unknown;
}

export type ClusterNetworks = Readonly<Partial<Record<"machine" | "cluster" | "service", readonly string[]>>>;

export type EffectiveProxy = NonNullable<ReturnType<typeof effectiveProxy>>;

const NEVER_PROXIED = ["127.0.0.1", "localhost", ".svc", ".cluster.local", ".local"];

/**
 * The proxy settings that machines use, as a proxy object's status has them; undefined when there is no proxy, whatever
 * noProxy says. Entries of noProxy keep their blanks, as HyperShift's do: they are part of the hash.
 */
export function effectiveProxy(spec: ProxySpec = {}, networks: ClusterNetworks = {}) {
  const { httpProxy = "", httpsProxy = "", noProxy = "" } = spec;
  if (httpProxy === "" && httpsProxy === "") return undefined;
  const { machine = [], cluster = [], service = [] } = networks;
  const users = noProxy.split(",").filter((item) => item !== "");
  const all = new Set([...NEVER_PROXIED, ...machine, ...cluster, ...service, ...users]);
  return {
    ...(httpProxy === "" ? {} : { httpProxy }),
    ...(httpsProxy === "" ? {} : { httpsProxy }),
    noProxy: [...all].sort(byBytes),
  };
}

/** Go's sort of strings. */
export function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

export function globalConfig(
  configuration: ClusterConfiguration | undefined,
  networks: ClusterNetworks | undefined,
  releaseVersion: string,
): string {
  const lines: unknown[] = [proxyObject(configuration?.proxy, networks), imageObject(configuration?.image)];
  if (isAtLeast(parseVersion(releaseVersion), 4, 23)) lines.push(configuration?.apiServer?.tlsSecurityProfile ?? null);
  return lines.map((line) => `${goJson(line)}\n`).join("");
}

// Members are in the order of the Go structs; structs, unlike strings and lists, are there even when empty.

const metadata = { name: "cluster", creationTimestamp: null };

function proxyObject(spec: ProxySpec = {}, networks?: ClusterNetworks) {
  const { noProxy, ...proxies } = effectiveProxy(spec, networks) ?? {};
  return { metadata, spec: proxySpec(spec), status: { ...proxies, noProxy: omitEmpty(noProxy?.join(",")) } };
}

function imageObject(spec?: ImageSpec) {
  return { metadata, spec: imageSpec(spec), status: {} };
}

function proxySpec(spec: ProxySpec = {}) {
  return {
    httpProxy: omitEmpty(spec.httpProxy),
    httpsProxy: omitEmpty(spec.httpsProxy),
    noProxy: omitEmpty(spec.noProxy),
    readinessEndpoints: omitEmpty(spec.readinessEndpoints),
    trustedCA: { name: spec.trustedCA?.name ?? "" },
  };
}

/** HyperShift cuts an empty import mode out of its text, for hashes that are older than the field; here it is omitted. */
function imageSpec(spec: ImageSpec = {}) {
  const { allowedRegistriesForImport = [], registrySources = {} } = spec;
  return {
    allowedRegistriesForImport: omitEmpty(
      allowedRegistriesForImport.map(({ domainName = "", insecure }) => ({
        domainName,
        insecure: insecure || undefined,
      })),
    ),
    externalRegistryHostnames: omitEmpty(spec.externalRegistryHostnames),
    additionalTrustedCA: { name: spec.additionalTrustedCA?.name ?? "" },
    registrySources: Object.fromEntries(REGISTRY_LISTS.map((list) => [list, omitEmpty(registrySources[list])])),
    imageStreamImportMode: omitEmpty(spec.imageStreamImportMode),
  };
}

// Go escapes these so that its output can be embedded in HTML and JavaScript.
const ESCAPED = /[<>&\u2028\u2029]/g;

/** JSON as Go's encoder writes it, byte for byte. Undefined members are omitted, as omitempty does. */
export function goJson(value: unknown): string {
  return JSON.stringify(value).replace(
    ESCAPED,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Undefined for what Go's omitempty leaves out of strings and lists. */
export function omitEmpty<T extends string | readonly unknown[]>(value: T | undefined): T | undefined {
  return value === undefined || value.length === 0 ? undefined : value;
}

/** FNV-1a with 32 bits, printed as eight hex digits: an id that changes with its input, never a protection. */
export function fnv1a(input: string | Uint8Array): string {
  const bytes = typeof input === "string" ? Buffer.from(input, "utf8") : input;
  let hash = 0x811c9dc5;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193);
  return (hash >>> 0).toString(16).padStart(8, "0");
}

const VERSION = /^(\d{1,6})\.(\d{1,6})\.\d{1,6}(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$/;

/** Major and minor number. */
export function parseVersion(text: string): readonly [number, number] {
  const [, major, minor] = VERSION.exec(text) ?? [];
  if (minor !== undefined) return [Number(major), Number(minor)];
  throw new DrawbridgeError("DB_NODEPOOL", `"${text}" is not a release version such as 4.18.3`);
}

/** Pre-releases count as their release: a nightly of 4.23 has what 4.23 has. */
function isAtLeast([major, minor]: readonly [number, number], wantedMajor: number, wantedMinor: number): boolean {
  return major !== wantedMajor ? major > wantedMajor : minor >= wantedMinor;
}

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

/** The documents in one text that does not depend on the order they came in. Throws for the first that cannot be used. */
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
