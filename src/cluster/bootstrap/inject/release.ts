/**
 * Which release a bootstrap.ign is of. Three places tell, the first that does is believed:
 * 1. the ConfigMap openshift-install-manifests, where the installer leaves its own version,
 * 2. the tag of the release image in release-image.sh (released installers name it by digest, which tells nothing),
 * 3. the scripts themselves: bootstrap-verify-api-server-urls.sh came with 4.12, bootstrap-cluster-gather.sh with 4.8.
 */

import { at } from "../../../base/at.js";
import { BOOTKUBE } from "./bootkube.js";
import { type IgnitionConfig, textOf } from "./ignition-config.js";
import { manifestAt } from "./manifest-reading.js";

export interface Release {
  /** "4.12", or a range such as "4.8 to 4.11" where only the scripts told. */
  readonly name: string;
  readonly from: string;
  /** Whether its payload can be expected to have the image of proxy-server and proxy-agent. */
  readonly hasImage: boolean;
}

/** The first release whose payload has apiserver-network-proxy. */
const FIRST_WITH_IMAGE = [4, 11] as const;

const INSTALLER_CONFIG_MAP = "/opt/openshift/openshift/openshift-install-manifests.yaml";
const RELEASE_IMAGE = "/usr/local/bin/release-image.sh";

export function releaseOf(config: IgnitionConfig): Release {
  return fromConfigMap(config) ?? fromReleaseImage(config) ?? fromScripts(config);
}

function fromConfigMap(config: IgnitionConfig): Release | undefined {
  const version = at(manifestAt(config, INSTALLER_CONFIG_MAP), "data", "version");
  return versioned(/^v?(\d+)\.(\d+)\b/.exec(String(version ?? "")), "the installer's version");
}

function fromReleaseImage(config: IgnitionConfig): Release | undefined {
  const script = textOf(config, RELEASE_IMAGE) ?? "";
  return versioned(/^\s*RELEASE_IMAGE_DIGEST="[^"@\s]+:(\d+)\.(\d+)[^"]*"/m.exec(script), "the release image's tag");
}

function versioned(match: RegExpExecArray | null, from: string): Release | undefined {
  if (match === null) return undefined;
  const [major, minor] = [Number(match[1]), Number(match[2])];
  const [firstMajor, firstMinor] = FIRST_WITH_IMAGE;
  const hasImage = major > firstMajor || (major === firstMajor && minor >= firstMinor);
  return { name: `${major}.${minor}`, from, hasImage };
}

function fromScripts(config: IgnitionConfig): Release {
  const script = textOf(config, BOOTKUBE) ?? "";
  const from = "the scripts in it";
  if (script.includes("bootstrap-verify-api-server-urls.sh")) return { name: "4.12 or later", from, hasImage: true };
  // 4.11 would have it, but cannot be told from 4.8 by its scripts.
  const gathers = script.includes("bootstrap-cluster-gather.sh");
  return { name: gathers ? "4.8 to 4.11" : "before 4.8", from, hasImage: false };
}
