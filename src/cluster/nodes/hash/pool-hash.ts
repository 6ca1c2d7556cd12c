/** The hashes by which a pool's Secrets are named and by which changes are noticed. */
import { DrawbridgeError } from "../../../base/errors/error.js";
import { fnv1a } from "./fnv.js";
import { type ClusterConfiguration, imageSpec, proxySpec } from "./global-config.js";
import { goJson } from "./go-json.js";
import { isAtLeast, parseVersion } from "./version.js";

export interface HashInput {
  readonly rawConfig: string;
  readonly releaseVersion: string;
  /** Names, not contents: an edit in place changes no hash. */
  readonly pullSecretName: string;
  readonly trustBundleName: string;
  readonly globalConfig: string;
  /** As `hashedStream` gives it. */
  readonly stream: string;
}

export interface PoolHashes {
  /** In the names of the Secrets. */
  readonly full: string;
  /** Does not change with the release, nor, deliberately, with the cluster's configuration. */
  readonly withoutVersion: string;
}

export function poolHashes(input: HashInput): PoolHashes {
  const { rawConfig, releaseVersion, pullSecretName, trustBundleName, globalConfig, stream } = input;
  return {
    full: fnv1a(rawConfig + releaseVersion + pullSecretName + trustBundleName + globalConfig + stream),
    withoutVersion: fnv1a(rawConfig + pullSecretName + trustBundleName + stream),
  };
}

/** Which operating system machines boot: what the pool wants, else the version's own; only the older one has runc. */
export function effectiveStream(wanted: string, releaseVersion: string, usesRunc: boolean): string {
  if (wanted === "") return usesRunc ? OLD_STREAM : defaultStream(releaseVersion);
  if (wanted !== OLD_STREAM && usesRunc)
    throw unusable(`${wanted} has no runc, which a ContainerRuntimeConfig asks for`);
  if (wanted !== OLD_STREAM && defaultStream(releaseVersion) === OLD_STREAM) {
    throw unusable(`${wanted} comes with release 5.0, and this one is ${releaseVersion}`);
  }
  return wanted;
}

/** The version's own leaves no trace, so that naming it changes nothing. */
export function hashedStream(effective: string, releaseVersion: string): string {
  return effective === defaultStream(releaseVersion) ? "" : effective;
}

const OLD_STREAM = "rhel-9";

function defaultStream(releaseVersion: string): string {
  return isAtLeast(parseVersion(releaseVersion), 5, 0) ? "rhel-10" : OLD_STREAM;
}

function unusable(sentence: string): DrawbridgeError {
  return new DrawbridgeError("DB_NODEPOOL_CONFIG", sentence);
}

/** HyperShift hashes what Go prints for a slice of bytes, not the bytes; its Ignition server compares with that. */
export function pullSecretHash(content: Uint8Array): string {
  return fnv1a(`[${[...content].join(" ")}]`);
}

export function trustBundleHash(pem: string): string {
  return fnv1a(pem);
}

/** The order of HyperShift's type; parts it does not know come last, by name. */
const partOrder = [
  "apiServer",
  "authentication",
  "featureGate",
  "image",
  "ingress",
  "network",
  "oauth",
  "operatorhub",
  "scheduler",
  "proxy",
];

/**
 * Byte for byte HyperShift's for no configuration and for the parts machines read (proxy, image); elsewhere members go
 * by name, since their Go types are not known here, and the hash is only as stable as it must be.
 */
export function configurationHash(configuration: ClusterConfiguration | undefined): string {
  if (configuration === undefined) return fnv1a("null");
  const present = Object.keys(configuration).filter((name) => configuration[name] !== undefined);
  const others = present.filter((name) => !partOrder.includes(name)).sort();
  const names = [...partOrder.filter((name) => present.includes(name)), ...others];
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
