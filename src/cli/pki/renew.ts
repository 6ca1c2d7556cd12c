/** `drawbridge pki renew`: issue again what is about to expire, and change signers without a gap. */
import type { PkiManifest } from "../../tunnel/pki/manifest.js";
import type { FlagSet } from "../flags/flag-set.js";
import { boolean } from "../flags/flag-value.js";
import { addDir, addOutput, listed, refused, refuseWords, requiredDir, runPkiCommand } from "./flags.js";

type RenewFlags = ReturnType<typeof declare>;

function declare(set: FlagSet) {
  return {
    dir: addDir(set),
    all: set.add("all", boolean, false, "Everything, not only what is in the last third of its life or damaged."),
    newSigners: set.add(
      "new-signers",
      boolean,
      false,
      "Give the signers new keys. The former ones stay trusted, and what they signed is issued again by the next renew.",
    ),
    dropFormerSigners: set.add(
      "drop-former-signers",
      boolean,
      false,
      "Trust former signers no longer, once nothing of theirs is in use.",
    ),
    output: addOutput(set),
  };
}

export function pkiRenew(program: string, argv: readonly string[]): Promise<number> {
  const purpose =
    "Issues again what is about to expire, damaged or of a former signer, in a directory whose signer's key was kept.";
  return runPkiCommand(program, argv, { purpose, declare, run });
}

interface Outcome {
  readonly renewed: readonly string[];
  readonly extended: readonly string[];
  readonly replaced: readonly string[];
  readonly dropped: readonly string[];
  readonly former: readonly string[];
  readonly manifest: PkiManifest;
}

async function run(flags: RenewFlags, words: readonly string[]): Promise<number> {
  refuseWords(words);
  const dir = requiredDir(flags.dir);
  const chosen = [flags.all, flags.newSigners, flags.dropFormerSigners].filter(({ value }) => value);
  if (chosen.length > 1) {
    throw refused(`--${chosen[0]!.name} and --${chosen[1]!.name} are steps of their own; give one of them`);
  }
  const outcome = await renewal(flags, dir);
  const text = flags.output.value === "json" ? `${JSON.stringify({ dir, ...outcome }, null, 2)}\n` : told(dir, outcome);
  process.stdout.write(text);
  return 0;
}

async function renewal(flags: RenewFlags, dir: string): Promise<Outcome> {
  if (flags.newSigners.value || flags.dropFormerSigners.value) {
    const { dropFormerSigners, replaceSigners } = await import("../../tunnel/pki/renew-signers.js");
    const change = await (flags.newSigners.value ? replaceSigners(dir) : dropFormerSigners(dir));
    return { renewed: [], extended: [], ...change };
  }
  const { renewPki } = await import("../../tunnel/pki/renew.js");
  return { replaced: [], dropped: [], ...(await renewPki(dir, { all: flags.all.value })) };
}

function told(dir: string, { renewed, extended, replaced, dropped, former, manifest }: Outcome): string {
  const list = (names: readonly string[]) => listed(manifest, names);
  if (replaced.length > 0) {
    return `New signers in ${dir}, beside the former ones in the bundles:\n${list(replaced)}${NEXT.replaced}`;
  }
  if (dropped.length > 0) return `No longer trusted in ${dir}: ${dropped.join(", ")}.\n${NEXT.dropped}`;
  const trusted = former.length === 0 ? "" : `Also trusted still: ${former.join(", ")}.\n${NEXT.renewed}`;
  if (renewed.length + extended.length === 0) return `Nothing in ${dir} is due:\n${listed(manifest)}${trusted}`;
  const trust =
    extended.length === 0
      ? ""
      : `The certificate of ${extended.join(", ")} is a new one for the same key: hand it to everyone who trusts it before the old one ends.\n`;
  return `Renewed in ${dir}:\n${list([...renewed, ...extended])}${trust}${trusted}`;
}

const NEXT = {
  replaced: "Hand the bundles out; once everyone has them, run renew again to issue the certificates anew.\n",
  renewed: "Once everyone has the new certificates, run renew --drop-former-signers.\n",
  dropped: "Hand the bundles out.\n",
} as const;
