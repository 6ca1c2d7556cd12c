/** `drawbridge pki init`: a whole set of certificates, or nothing. */

import { DrawbridgeError } from "../../base/errors/error.js";
import { type PkiManifest, pkiDifferences, readPkiManifest } from "../../tunnel/pki/manifest.js";
import type { ProfileName, ProfileOptions } from "../../tunnel/pki/profiles.js";
import { certificatesFor, writePki } from "../../tunnel/pki/write-pki.js";
import { list, oneOf, text, type Values, yesNo } from "../flags/flag.js";
import { missing, refused } from "../flags/parse.js";
import { defineCommand, type Input } from "../framework/define.js";
import { dirFlag, listed, validityFlag } from "./shared.js";

const flags = {
  ...dirFlag,
  profile: oneOf(
    ["bootstrap", "hosted"],
    "What the certificates are for. With --replace, the profile and all options of the set that is replaced are the default.",
  ),
  ip: list("IP address at which agents reach the server; repeatable."),
  dns: list("DNS name at which agents reach the server; repeatable."),
  node: list(
    "With --profile bootstrap: node whose agent gets a certificate of its own; repeatable. If empty, all agents share one.",
  ),
  organization: text("With --profile bootstrap: the O of every subject. If empty, drawbridge."),
  namespace: text("With --profile hosted: the control plane's namespace. Required there."),
  "shared-signer": yesNo(
    "With --profile hosted: one signer for all roles, to put into a HyperShift in place of its own. Otherwise each role has its own.",
  ),
  ...validityFlag("How long the certificates are valid. If 0, 24h for bootstrap and 8760h for hosted."),
  key: oneOf(["p256", "rsa2048"], "Kind of the keys. If empty, p256, with --shared-signer rsa2048."),
  "keep-signer-key": yesNo(
    "Write the signers' keys, too, for issue and renew. Otherwise they never leave this process's memory.",
  ),
  replace: yesNo("Replace the set that is in --dir by the new one."),
};

type InitFlags = Values<typeof flags>;

export default defineCommand({
  purpose: "Makes a signer and all certificates of a bridge or a hosted control plane, all of them or none.",
  examples: [
    "drawbridge pki init --profile bootstrap --dir tls --ip 10.0.0.5",
    "drawbridge pki init --profile hosted --dir tls --namespace clusters-demo --dns konnectivity.example",
  ],
  flags,
  async run(flags: InitFlags, input) {
    const { dir, replace } = flags;
    const present = await readPkiManifest(dir);
    const { profile, options } = requestOf(flags, input, replace ? present : undefined);
    if (present !== undefined && !replace) {
      const differences = await pkiDifferences(dir, present, profile, options as never);
      if (differences.length === 0) return { dir, made: false, manifest: present };
      const message = `${dir} holds a set that is not the one asked for: ${differences.join("; ")}.`;
      throw new DrawbridgeError("DB_PKI_EXISTS", message);
    }
    const issued = await certificatesFor(profile, options as never);
    const manifest = await writePki(dir, issued, { keepSignerKeys: flags.keepSignerKey, replace });
    return { dir, made: true, manifest };
  },
  show({ dir, made, manifest }) {
    const head = made ? `Made in ${dir}:` : `${dir} already holds this set, and it is good:`;
    const keys = manifest.signerKeysKept
      ? "The signers' keys are kept there, too: remove them when nothing more is to be issued.\n"
      : "";
    return `${head}\n${listed(manifest)}${keys}`;
  },
});

/** The flags that belong to the other profile. */
const FOREIGN_FLAGS = { bootstrap: ["namespace", "shared-signer"], hosted: ["node", "organization"] } as const;

function requestOf(flags: InitFlags, { given }: Input, before: PkiManifest | undefined) {
  const profile = flags.profile ?? before?.profile;
  if (profile === undefined) throw missing("--profile is missing: bootstrap or hosted");
  const stray = FOREIGN_FLAGS[profile].find((name) => given.has(name));
  if (stray) throw refused(`--${stray} belongs to --profile ${profile === "bootstrap" ? "hosted" : "bootstrap"}`);
  const { ip, dns } = flags;
  const addresses =
    profile === "bootstrap" ? { ipAddresses: ip, dnsNames: dns } : { externalAddresses: [...dns, ...ip] };
  const options: Partial<ProfileOptions["bootstrap"] & ProfileOptions["hosted"]> = {
    ...(before?.profile === profile && before.options),
    // Another address takes the place of all former ones.
    ...((given.has("ip") || given.has("dns")) && addresses),
    ...(given.has("node") && { nodes: flags.node }),
    ...(given.has("organization") && { organization: flags.organization }),
    ...(given.has("namespace") && { namespace: flags.namespace }),
    ...(given.has("shared-signer") && { sharedSigner: flags.sharedSigner }),
    ...(flags.key !== undefined && { key: flags.key }),
    ...(given.has("for") && { validForMs: flags.for }),
  };
  const { ipAddresses = [], dnsNames = [], externalAddresses = [], namespace } = options;
  if (profile === "hosted" && namespace === undefined) throw missing("--namespace is missing: the control plane's");
  if (ipAddresses.length + dnsNames.length + externalAddresses.length === 0) {
    throw missing("--ip or --dns is missing: where agents reach the server");
  }
  return { profile, options: options as ProfileOptions[ProfileName] };
}
