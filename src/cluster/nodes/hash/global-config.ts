/** The part of a pool's hash that comes from the cluster's own configuration: its proxy, its registries, its TLS profile. */
import { goJson, omitEmpty } from "./go-json.js";
import { isAtLeast, parseVersion } from "./version.js";

export interface ProxySpec {
  readonly httpProxy?: string;
  readonly httpsProxy?: string;
  readonly noProxy?: string;
  readonly readinessEndpoints?: readonly string[];
  readonly trustedCA?: { readonly name?: string };
}

export interface ImageSpec {
  readonly allowedRegistriesForImport?: readonly { readonly domainName?: string; readonly insecure?: boolean }[];
  readonly externalRegistryHostnames?: readonly string[];
  readonly additionalTrustedCA?: { readonly name?: string };
  readonly registrySources?: {
    readonly insecureRegistries?: readonly string[];
    readonly blockedRegistries?: readonly string[];
    readonly allowedRegistries?: readonly string[];
    readonly containerRuntimeSearchRegistries?: readonly string[];
  };
  readonly imageStreamImportMode?: string;
}

/** `spec.configuration` of a HostedCluster, or of what stands in for one. */
export interface ClusterConfiguration {
  readonly proxy?: ProxySpec;
  readonly image?: ImageSpec;
  readonly apiServer?: { readonly tlsSecurityProfile?: unknown };
  readonly [part: string]: unknown;
}

export interface ClusterNetworks {
  readonly machine?: readonly string[];
  readonly cluster?: readonly string[];
  readonly service?: readonly string[];
}

/** What a proxy object's status says: what machines really use. */
export interface EffectiveProxy {
  readonly httpProxy?: string;
  readonly httpsProxy?: string;
  /** Sorted, each once. */
  readonly noProxy: readonly string[];
}

const neverProxied = ["127.0.0.1", "localhost", ".svc", ".cluster.local", ".local"];

/** Undefined when there is no proxy. */
export function effectiveProxy(spec: ProxySpec = {}, networks: ClusterNetworks = {}): EffectiveProxy | undefined {
  const { httpProxy = "", httpsProxy = "", noProxy = "" } = spec;
  if (httpProxy === "" && httpsProxy === "" && noProxy === "") return undefined;
  const { machine = [], cluster = [], service = [] } = networks;
  const users = noProxy.split(",").map((item) => item.trim());
  const all = new Set([...neverProxied, ...machine, ...cluster, ...service, ...users].filter((item) => item !== ""));
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

// Members stand in the order of the Go structs; structs, unlike strings and lists, are there even when empty.

const metadata = { name: "cluster", creationTimestamp: null };

function proxyObject(spec: ProxySpec = {}, networks?: ClusterNetworks) {
  const effective = effectiveProxy(spec, networks);
  return {
    metadata,
    spec: proxySpec(spec),
    status: {
      httpProxy: effective?.httpProxy,
      httpsProxy: effective?.httpsProxy,
      noProxy: omitEmpty(effective?.noProxy.join(",")),
    },
  };
}

function imageObject(spec?: ImageSpec) {
  return { metadata, spec: imageSpec(spec), status: {} };
}

export function proxySpec(spec: ProxySpec = {}) {
  return {
    httpProxy: omitEmpty(spec.httpProxy),
    httpsProxy: omitEmpty(spec.httpsProxy),
    noProxy: omitEmpty(spec.noProxy),
    readinessEndpoints: omitEmpty(spec.readinessEndpoints),
    trustedCA: { name: spec.trustedCA?.name ?? "" },
  };
}

/** HyperShift cuts an empty import mode out of its text, for hashes that are older than the field; here it is omitted. */
export function imageSpec(spec: ImageSpec = {}) {
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
    registrySources: {
      insecureRegistries: omitEmpty(registrySources.insecureRegistries),
      blockedRegistries: omitEmpty(registrySources.blockedRegistries),
      allowedRegistries: omitEmpty(registrySources.allowedRegistries),
      containerRuntimeSearchRegistries: omitEmpty(registrySources.containerRuntimeSearchRegistries),
    },
    imageStreamImportMode: omitEmpty(spec.imageStreamImportMode),
  };
}
