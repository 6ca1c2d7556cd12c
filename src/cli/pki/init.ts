/** `drawbridge pki init`: a whole set of certificates, or nothing. */
import { DrawbridgeError } from "../../base/errors/error.js";
import type { PkiManifest } from "../../tunnel/pki/manifest.js";
import type { ProfileName, ProfileOptions } from "../../tunnel/pki/profiles/by-name.js";
import { choice } from "../flags/choice.js";
import type { Flag, FlagSet } from "../flags/flag-set.js";
import { boolean, string, stringSlice } from "../flags/flag-value.js";
import {
  addDir,
  addFor,
  addOutput,
  lifetimeMs,
  listed,
  refused,
  refuseWords,
  requiredDir,
  runPkiCommand,
} from "./flags.js";

type InitFlags = ReturnType<typeof declare>;

// The return type is inferred: one entry a flag, each with the type its kind gives it.
function declare(set: FlagSet) {
  return {
    profile: set.add(
      "profile",
      choice("bootstrap", "hosted"),
      undefined,
      "What the certificates are for. With --replace, the profile and all that was asked for before are the default.",
    ),
    dir: addDir(set),
    ip: set.add("ip", stringSlice, [], "IP address at which agents reach the server."),
    dns: set.add("dns", stringSlice, [], "DNS name at which agents reach the server."),
    node: set.add(
      "node",
      stringSlice,
      [],
      "bootstrap: Node whose agent gets a certificate of its own. If empty, all agents share one.",
    ),
    organization: set.add("organization", string, "", "bootstrap: The O of every subject. If empty, drawbridge."),
    namespace: set.add("namespace", string, "", "hosted: The control plane's namespace. Required there."),
    sharedSigner: set.add(
      "shared-signer",
      boolean,
      false,
      "hosted: One signer for all roles, to put into a HyperShift in place of its own. Otherwise each role has its own.",
    ),
    for: addFor(set, "How long the certificates live. If empty, 24h for bootstrap and 8760h for hosted."),
    key: set.add(
      "key",
      choice("p256", "rsa2048"),
      undefined,
      "Kind of the keys. If empty, p256, with --shared-signer rsa2048.",
    ),
    keepSignerKey: set.add(
      "keep-signer-key",
      boolean,
      false,
      "Write the signers' keys, too, for issue and renew. Otherwise they never leave this process's memory.",
    ),
    replace: set.add("replace", boolean, false, "Put the new set in place of one that is there."),
    output: addOutput(set),
  };
}

export function pkiInit(program: string, argv: readonly string[]): Promise<number> {
  const purpose = "Makes a signer and all certificates of a bridge or a hosted control plane, all of them or none.";
  return runPkiCommand(program, argv, { purpose, declare, run });
}

async function run(flags: InitFlags, words: readonly string[]): Promise<number> {
  refuseWords(words);
  const dir = requiredDir(flags.dir);
  const { readManifest } = await import("../../tunnel/pki/manifest.js");
  const request = requestOf(flags, flags.replace.value ? await readManifest(dir) : undefined);
  if (!flags.replace.value) {
    const present = await presentSet(dir, request);
    if (present) return tell(flags, dir, present, false);
  }
  const [{ certificatesFor }, { writePki }] = await Promise.all([
    import("../../tunnel/pki/certificates-for.js"),
    import("../../tunnel/pki/write-pki.js"),
  ]);
  const issued = await certificatesFor(request.profile, request.options as never);
  const manifest = await writePki(dir, issued, {
    keepSignerKeys: flags.keepSignerKey.value,
    replace: flags.replace.value,
  });
  return tell(flags, dir, manifest, true);
}

interface Request {
  readonly profile: ProfileName;
  readonly options: ProfileOptions[ProfileName];
}

/** A second run with the same wishes finds its work done; one with others is told what differs. */
async function presentSet(dir: string, { profile, options }: Request): Promise<PkiManifest | undefined> {
  const { comparePki } = await import("../../tunnel/pki/compare-pki.js");
  const comparison = await comparePki(dir, profile, options as never);
  if (comparison.state === "absent") return undefined;
  if (comparison.state === "same") return comparison.manifest;
  const message = `${dir} holds a set that is not the one asked for: ${comparison.why.join("; ")}.`;
  throw new DrawbridgeError("DB_PKI_EXISTS", message);
}

function requestOf(flags: InitFlags, before: PkiManifest | undefined): Request {
  const profile = flags.profile.value ?? before?.profile;
  if (profile === undefined) throw refused("--profile is missing: bootstrap or hosted");
  const former = before?.profile === profile ? before.options : {};
  const validForMs = lifetimeMs(flags.for);
  const common = {
    ...(flags.key.value !== undefined && { key: flags.key.value }),
    ...(validForMs !== undefined && { validForMs }),
  };
  const own = profile === "bootstrap" ? bootstrapOptions(flags) : hostedOptions(flags);
  const options = { ...former, ...own, ...common };
  return { profile, options: checked(profile, options) };
}

function bootstrapOptions(flags: InitFlags): Partial<ProfileOptions["bootstrap"]> {
  refuseOthers("hosted", flags.namespace, flags.sharedSigner);
  const { ip, dns, node, organization } = flags;
  return {
    // Another address takes the place of all former ones.
    ...((ip.changed || dns.changed) && { ipAddresses: ip.value, dnsNames: dns.value }),
    ...(node.changed && { nodes: node.value }),
    ...(organization.changed && { organization: organization.value }),
  };
}

function hostedOptions(flags: InitFlags): Partial<ProfileOptions["hosted"]> {
  refuseOthers("bootstrap", flags.node, flags.organization);
  const { ip, dns, namespace, sharedSigner } = flags;
  return {
    ...((ip.changed || dns.changed) && { externalAddresses: [...dns.value, ...ip.value] }),
    ...(namespace.changed && { namespace: namespace.value }),
    ...(sharedSigner.changed && { sharedSigner: sharedSigner.value }),
  };
}

function refuseOthers(profile: ProfileName, ...flags: readonly Pick<Flag<never>, "name" | "changed">[]): void {
  const stray = flags.find(({ changed }) => changed);
  if (stray) throw refused(`--${stray.name} belongs to --profile ${profile}`);
}

function checked(profile: ProfileName, options: Partial<ProfileOptions["bootstrap"] & ProfileOptions["hosted"]>) {
  const { ipAddresses = [], dnsNames = [], externalAddresses = [], namespace } = options;
  if (profile === "hosted" && namespace === undefined) throw refused("--namespace is missing: the control plane's");
  if (ipAddresses.length + dnsNames.length + externalAddresses.length === 0) {
    throw refused("--ip or --dns is missing: where agents reach the server");
  }
  return options as ProfileOptions[ProfileName];
}

function tell(flags: InitFlags, dir: string, manifest: PkiManifest, made: boolean): number {
  if (flags.output.value === "json") {
    process.stdout.write(`${JSON.stringify({ dir, made, manifest }, null, 2)}\n`);
    return 0;
  }
  const head = made ? `Made in ${dir}:` : `${dir} already holds this set, and it is good:`;
  const keys = manifest.signerKeysKept
    ? "The signers' keys are kept there, too: remove them when nothing more is to be issued.\n"
    : "";
  process.stdout.write(`${head}\n${listed(manifest)}${keys}`);
  return 0;
}
