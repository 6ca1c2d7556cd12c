/** `drawbridge pki renew`: issue again what is about to expire, and change signers without a gap. */

import { dropFormerSigners, type Renewal, renewPki, replaceSigners } from "../../tunnel/pki/renew.js";
import { yesNo } from "../flags/flag.js";
import { refused } from "../flags/parse.js";
import { defineCommand } from "../framework/define.js";
import { dirFlag, listed } from "./shared.js";

const flags = {
  ...dirFlag,
  all: yesNo("Issue every certificate again, not only those in the last third of their life or damaged."),
  "new-signers": yesNo(
    "Give the signers new keys. The former ones stay trusted, and what they signed is issued again by the next renew.",
  ),
  "drop-former-signers": yesNo("Trust former signers no longer, once nothing that they signed is in use."),
};

export default defineCommand({
  purpose:
    "Issues again what is about to expire, damaged or of a former signer, in a directory whose signer's key was kept.",
  examples: ["drawbridge pki renew --dir tls"],
  flags,
  async run({ dir, all, newSigners, dropFormerSigners: drop }) {
    const steps = [all && "all", newSigners && "new-signers", drop && "drop-former-signers"];
    const [one, other] = steps.filter((step) => step !== false);
    if (other !== undefined) throw refused(`--${one} and --${other} are steps of their own; give one of them`);
    const done = newSigners ? replaceSigners(dir) : drop ? dropFormerSigners(dir) : renewPki(dir, { all });
    return { dir, ...(await done) };
  },
  show: renewalText,
});

function renewalText({ dir, ...renewal }: Renewal & { readonly dir: string }) {
  const { renewed, extended, replaced, dropped, former, manifest } = renewal;
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
  replaced: "Hand the bundles out; once everyone has them, run renew again to issue new certificates.\n",
  renewed: "Once everyone has the new certificates, run renew --drop-former-signers.\n",
  dropped: "Hand the bundles out.\n",
} as const;
