/** What the manifests in a bootstrap.ign say about addresses, for the script that has to find the host's own. */
import { isIP } from "node:net";
import { at, isRecord, listOf } from "../../../base/at.js";
import { canonical, parseNetwork } from "../address/ip.js";
import { machineNetworksIn } from "../install-dir.js";
import { yamlOf } from "../settings/programs.js";
import { BOOTKUBE } from "./bootkube.js";
import { type IgnitionConfig, manifestAt, textOf } from "./ignition-config.js";

export interface ClusterFacts {
  /** Agents dial an address of the family of the first service network. */
  readonly family: 4 | 6;
  /** CIDRs. */
  readonly machineNetworks: readonly string[];
  /** An address inside each of them. */
  readonly probes: readonly string[];
  /** Virtual addresses of API and ingress: they move, so nothing may dial the bootstrap host by them. */
  readonly sharedIps: readonly string[];
  readonly fips: boolean;
}

const MANIFESTS = "/opt/openshift/manifests";

/** A manifest that cannot be read leaves its facts unknown; the script then asks the routing table alone. */
export function clusterFacts(config: IgnitionConfig): ClusterFacts {
  const network = manifestAt(config, `${MANIFESTS}/cluster-network-02-config.yml`);
  const infrastructure = manifestAt(config, `${MANIFESTS}/cluster-infrastructure-02-config.yml`);
  const installConfig = yamlOf(at(manifestAt(config, `${MANIFESTS}/cluster-config.yaml`), "data", "install-config"));
  const networks = machineNetworksIn(installConfig).flatMap((cidr) => parseNetwork(cidr) ?? []);
  const [firstService] = listOf(at(network, "spec", "serviceNetwork")).filter((entry) => typeof entry === "string");
  return {
    family: firstService?.includes(":") ? 6 : 4,
    machineNetworks: networks.map(({ text }) => text),
    probes: networks.map(({ firstHost }) => firstHost),
    sharedIps: sharedIps(at(infrastructure, "status", "platformStatus")),
    fips: at(installConfig, "fips") === true,
  };
}

/** Every platform has them in an object of its own name, in one field or in a list. */
function sharedIps(platformStatus: unknown): string[] {
  const platforms = Object.values(isRecord(platformStatus) ? platformStatus : {}).filter(isRecord);
  const found = platforms.flatMap((platform) => [
    ...["apiServerInternalIP", "ingressIP"].map((name) => platform[name]),
    ...["apiServerInternalIPs", "ingressIPs"].flatMap((name) => listOf(platform[name])),
  ]);
  const addresses = found.filter((ip): ip is string => typeof ip === "string" && isIP(ip) !== 0);
  // In the kernel's spelling.
  return [...new Set(addresses.map(canonical))];
}

/** The release that a bootstrap.ign is of, and where that was read. */
export interface ReleaseGuess {
  /** "4.12", or a range such as "4.8 to 4.11" where only the scripts show it. */
  readonly name: string;
  readonly from: string;
  /** Whether its payload can be expected to have the image of proxy-server and proxy-agent. */
  readonly hasImage: boolean;
}

/** The first release whose payload has apiserver-network-proxy. */
const FIRST_WITH_IMAGE = [4, 11] as const;

const INSTALLER_CONFIG_MAP = "/opt/openshift/openshift/openshift-install-manifests.yaml";
const RELEASE_IMAGE = "/usr/local/bin/release-image.sh";

/**
 * Three places name the release, and the first that does is used:
 * 1. the ConfigMap openshift-install-manifests, where the installer leaves its own version,
 * 2. the tag of the release image in release-image.sh (released installers name it by digest, which does not help),
 * 3. the scripts themselves: bootstrap-verify-api-server-urls.sh came with 4.12, bootstrap-cluster-gather.sh with 4.8.
 */
export function releaseOf(config: IgnitionConfig): ReleaseGuess {
  return fromConfigMap(config) ?? fromReleaseImage(config) ?? fromScripts(config);
}

function fromConfigMap(config: IgnitionConfig): ReleaseGuess | undefined {
  const version = at(manifestAt(config, INSTALLER_CONFIG_MAP), "data", "version");
  return versioned(/^v?(\d+)\.(\d+)\b/.exec(String(version ?? "")), "the installer's version");
}

function fromReleaseImage(config: IgnitionConfig): ReleaseGuess | undefined {
  const script = textOf(config, RELEASE_IMAGE) ?? "";
  return versioned(/^\s*RELEASE_IMAGE_DIGEST="[^"@\s]+:(\d+)\.(\d+)[^"]*"/m.exec(script), "the release image's tag");
}

function versioned(match: RegExpExecArray | null, from: string): ReleaseGuess | undefined {
  if (match === null) return undefined;
  const [major, minor] = [Number(match[1]), Number(match[2])];
  const [firstMajor, firstMinor] = FIRST_WITH_IMAGE;
  const hasImage = major > firstMajor || (major === firstMajor && minor >= firstMinor);
  return { name: `${major}.${minor}`, from, hasImage };
}

function fromScripts(config: IgnitionConfig): ReleaseGuess {
  const script = textOf(config, BOOTKUBE) ?? "";
  const from = "the scripts in it";
  if (script.includes("bootstrap-verify-api-server-urls.sh")) return { name: "4.12 or later", from, hasImage: true };
  // 4.11 would have it, but cannot be distinguished from 4.8 by its scripts.
  const gathers = script.includes("bootstrap-cluster-gather.sh");
  return { name: gathers ? "4.8 to 4.11" : "before 4.8", from, hasImage: false };
}
