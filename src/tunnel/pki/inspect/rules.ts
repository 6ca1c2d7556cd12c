/** What can be wrong with a certificate, each rule with what to do about it. */
import type { X509Certificate } from "node:crypto";
import { type Finding, failed, type Judgement, warning } from "../../../base/finding.js";
import { lifeProblem } from "../manifest.js";
import { type ChainResult, isFor } from "../pem.js";
import type { InspectedCertificate, InspectedFile } from "./inspect.js";

/** One certificate with everything that the rules need to judge it. */
export interface InspectionSubject {
  readonly facts: InspectedCertificate;
  readonly certificate: X509Certificate;
  readonly chain: ChainResult;
  /** The file whose key has the same stem, or else the one whose key matches. */
  readonly keyFile: InspectedFile | undefined;
  /** From the manifest: how long it was meant to live. */
  readonly validForMs: number | undefined;
}

export interface Surroundings {
  readonly now: Date;
  /** Where agents dial, if that is known. */
  readonly address: string | undefined;
  /** How certificates of this directory are made again. */
  readonly makeAgain: string;
  /** How they are made for another address. */
  readonly makeForAddress: string;
  readonly signerKeysKept: boolean;
}

/** A message and its remedy, about the certificate's own file unless another is named; nothing when all is well. */
type Rule = (
  subject: InspectionSubject,
  surroundings: Surroundings,
) => readonly [message: string, remedy: string, file?: string | undefined] | false | undefined;

type LifeProblem = NonNullable<ReturnType<typeof lifeProblem>>;

function lifeRule(id: LifeProblem["id"], remedy: (surroundings: Surroundings) => string): Rule {
  return ({ facts, validForMs }, surroundings) => {
    const problem = lifeProblem({ ...facts, validForMs }, surroundings.now);
    return problem?.id === id && [`it ${problem.words}`, remedy(surroundings)];
  };
}

/** By the id of the check. */
const failures: Readonly<Record<string, Rule>> = {
  expired: lifeRule("expired", ({ makeAgain }) => makeAgain),
  "not-yet-valid": lifeRule(
    "not-yet-valid",
    ({ now }) =>
      `This host's clock says ${now.toISOString()}; set it (chronyc makestep) or, if it is right, the clock of the host that issued the certificate and issue again.`,
  ),
  chain({ chain: { state }, facts: { issuer } }, { makeAgain }) {
    if (state === "forged") {
      const message = `the authority here is named ${issuer} but did not sign it: the files come from different issues`;
      return [message, `Install certificate and authority from the same issue. ${makeAgain}`];
    }
    const remedy =
      "Give the bundle that holds its issuer with --ca, or install certificate and authority from the same issue.";
    return state === "foreign" && [`none of the authorities here signed it; its issuer is ${issuer}`, remedy];
  },
  usage({ facts: { use, usages } }, { makeAgain }) {
    if (use === undefined || use === "signer" || usages === undefined) return undefined;
    const needed = use === "both" ? ["serverAuth", "clientAuth"] : [`${use}Auth`];
    const lacking = needed.filter((usageName) => !usages.includes(usageName));
    const message = `it is a ${use}'s but its extended key usage (${usages.join(", ") || "none"}) lacks ${lacking.join(", ")}, so peers refuse it`;
    return lacking.length > 0 && [message, `Use the certificate that was made for the ${use}. ${makeAgain}`];
  },
  address({ certificate, facts }, { address, makeForAddress }) {
    if (address === undefined || !isServers(facts) || isFor(certificate, address)) return undefined;
    const message = `agents that dial ${address} refuse it: it is for ${facts.names.join(", ") || "no address at all"}`;
    return [message, `${makeForAddress}, or let agents dial an address that it has.`];
  },
  "may-not-sign"({ facts: { use, isAuthority, keyUsages } }, { makeAgain }) {
    if (use === "signer" && !isAuthority) {
      return ["it is used as an authority but is none (basic constraints)", makeAgain];
    }
    const maySign = !isAuthority || keyUsages?.includes("keyCertSign") !== false;
    return !maySign && ["its key usage does not allow it to sign certificates", makeAgain];
  },
  "key-mismatch"({ facts: { keyFile, keyMatches } }, { makeAgain }) {
    const message = `the key in ${keyFile} does not belong to it`;
    return keyMatches === false && [message, `Install certificate and key from the same issue. ${makeAgain}`];
  },
  "key-readable"({ keyFile, facts: { keyMode } }) {
    if (keyFile === undefined || (keyFile.mode & 0o007) === 0) return undefined;
    const remedy = `chmod 600 ${keyFile.path}, and make the certificates again if others had access to this host.`;
    return [`every user may use this private key (mode ${keyMode})`, remedy, keyFile.path];
  },
  "signer-key"({ facts }, { signerKeysKept }) {
    if (signerKeysKept || !isSignersOwnKey(facts)) return undefined;
    return [SIGNER_KEY, `Remove it (rm ${facts.keyFile}); nothing that runs needs it.`, facts.keyFile];
  },
};

const warnings: Readonly<Record<string, Rule>> = {
  "expires-soon": lifeRule("expires-soon", ({ makeAgain }) => makeAgain),
  "outlives-signer"({ chain, facts: { notBefore, notAfter } }, { now, makeAgain }) {
    const signer = chain.state === "verified" ? chain.chain[1] : undefined;
    const end = new Date(signer?.validTo ?? notAfter);
    if (notBefore > now || notAfter <= now || end >= notAfter) return undefined;
    return [`its signer ends earlier, on ${end.toISOString()}, and it is refused from then on`, makeAgain];
  },
  "chain-unknown": ({ chain: { state } }) =>
    state === "unknown" && [`no authority is at hand to check it against`, "Give the bundle with --ca."],
  "key-missing": ({ facts: { isAuthority, keyFile } }) =>
    keyFile === undefined && !isAuthority && ["its private key is not here", "Nothing to do if only peers read it."],
  "key-readable"({ keyFile, facts: { keyMode } }) {
    if (keyFile === undefined || (keyFile.mode & 0o077) === 0 || (keyFile.mode & 0o007) !== 0) return undefined;
    const remedy = "chmod 600 it unless the process that reads it runs as another user of that group.";
    return [`its group may use this private key (mode ${keyMode})`, remedy, keyFile.path];
  },
  "signer-key"({ facts }, { signerKeysKept }) {
    if (!signerKeysKept || !isSignersOwnKey(facts)) return undefined;
    const remedy = "It was kept on purpose, for pki issue and pki renew; remove it when no more are needed.";
    return [SIGNER_KEY, remedy, facts.keyFile];
  },
  fips: ({ facts: { fipsObjection } }, { makeAgain }) =>
    fipsObjection !== undefined && [`a host in FIPS mode refuses it: ${fipsObjection}`, makeAgain],
};

const SIGNER_KEY = "the authority's private key lies here: whoever reads it can admit agents of their own";

const isSignersOwnKey = ({ isAuthority, keyFile, keyMatches }: InspectedCertificate): boolean =>
  isAuthority && keyFile !== undefined && keyMatches !== false;

export function isServers({ use, isAuthority, usages, names }: InspectedCertificate): boolean {
  if (use !== undefined) return use === "server" || use === "both";
  return !isAuthority && (usages?.includes("serverAuth") ?? names.length > 0);
}

export function findingsOf(subject: InspectionSubject, surroundings: Surroundings): Finding[] {
  return [failures, warnings].flatMap((rules) =>
    Object.entries(rules).flatMap(([check, rule]) => {
      const [message, remedy, file = subject.facts.file] = rule(subject, surroundings) || [];
      if (message === undefined || remedy === undefined) return [];
      return [certificateFinding(check, (rules === failures ? failed : warning)(message, remedy), file)];
    }),
  );
}

export function certificateFinding(check: string, judgement: Judgement, subject: string): Finding {
  return { about: "Certificates fit together and are valid", check, ...judgement, subject };
}
