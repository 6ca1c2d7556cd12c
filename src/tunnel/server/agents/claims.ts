/**
 * Who may claim what. Identifiers are only what an agent says of itself; with rules, the server lets a certificate or a
 * service account claim just what the operator wrote down, so that a worker cannot attract another host's traffic.
 *
 *   rules:
 *     - match: { issuer: "CN=control-plane-signer" }
 *       mayClaim: ["ipv4=172.30.0.0/16", "host=*.svc"]
 *       exclusive: true
 *     - match: { serviceAccount: "kube-system/konnectivity-agent" }
 *       mayClaim: ["default-route"]
 *
 * The first rule that matches decides; nobody's rule means no claims at all, not even the empty one. What a rule may
 * claim exclusively goes to agents that claim it or to nobody: not to a default route while those agents are away.
 * With `countAsOne: true` all agents of one certificate subject or service account get one agent's share of the dials;
 * without it a certificate may be shared, as by the pods of a DaemonSet, and each of them has its own share.
 */

import { readFileSync } from "node:fs";
import { parse } from "yaml";
import { at, isRecord } from "../../../base/at.js";
import { DrawbridgeError, wrapErrors } from "../../../base/errors/error.js";
import { FollowedFiles, type FollowOptions } from "../../pki/followed-files.js";
import { judgedHost } from "../../wire/destination.js";
import type { Identifiers } from "../../wire/identifiers.js";
import { covers, parsePrefix } from "../../wire/prefix.js";

/** The identity in the peer's certificate or token. */
export interface Principal {
  /** Distinguished names with their parts in alphabetical order, as `CN=x,O=y`; empty without a certificate. */
  readonly subject: string;
  readonly issuer: string;
  /** `namespace/name`; empty without token authentication. */
  readonly serviceAccount: string;
}

interface Rule {
  readonly match: Partial<Record<keyof Principal, string>>;
  readonly mayClaim: readonly string[];
  readonly exclusive: boolean;
  readonly countAsOne: boolean;
}

const MATCH_KEYS: readonly string[] = ["subject", "issuer", "serviceAccount"] satisfies (keyof Principal)[];
const CLAIM = /^(default-route|(ipv4|ipv6|host|cidr)=\S+)$/;

export class ClaimRules {
  readonly rules: readonly Rule[];

  constructor(rules: readonly Rule[]) {
    this.rules = rules;
  }

  /** Undefined when everything is allowed, else the sentence that says what is not. */
  refusal(principal: Principal, identifiers: Identifiers): string | undefined {
    const rule = this.#ruleOf(principal);
    if (rule === undefined) return "no claim rule matches this agent's certificate or service account";
    const refused = claimsOf(identifiers).find((claim) => !rule.mayClaim.some((allowed) => allows(allowed, claim)));
    return refused === undefined ? undefined : `this agent may not claim ${refused}`;
  }

  /** Whether all agents with this certificate subject or service account count as one when one is chosen for a dial. */
  countsAsOne(principal: Principal): boolean {
    return this.#ruleOf(principal)?.countAsOne ?? false;
  }

  #ruleOf(principal: Principal): Rule | undefined {
    return this.rules.find(({ match }) =>
      Object.entries(match).every(([key, pattern]) => globMatches(pattern, principal[key as keyof Principal])),
    );
  }

  /** Whether only agents that claim this host may serve it. */
  reserves(host: string): boolean {
    return this.rules.some(({ exclusive, mayClaim }) => exclusive && mayClaim.some((each) => reaches(each, host)));
  }
}

/** A host as a dial names it, under a rule for addresses, prefixes or names. */
function reaches(allowed: string, host: string): boolean {
  const [key, value = ""] = split(allowed);
  if (key === "default-route") return false;
  return key === "host" ? hostMatches(value, host) : prefixCovers(value, host);
}

/** A prefix that does not parse would silently allow nothing; it is better refused when the file is read. */
function isClaim(text: string): boolean {
  if (!CLAIM.test(text)) return false;
  const [key, value = ""] = split(text);
  return key === "host" || key === "default-route" || parsePrefix(value) !== undefined;
}

function claimsOf(identifiers: Identifiers): string[] {
  const { ipv4, ipv6, host, cidr, defaultRoute } = identifiers;
  const named = { ipv4, ipv6, host, cidr };
  const claims = Object.entries(named).flatMap(([key, values]) => values.map((value) => `${key}=${value}`));
  return defaultRoute ? [...claims, "default-route"] : claims;
}

/** Addresses and prefixes may lie inside an allowed prefix; names match with `*`. */
function allows(allowed: string, claim: string): boolean {
  if (allowed === claim) return true;
  const [allowedKey, allowedValue = ""] = split(allowed);
  const [key, value = ""] = split(claim);
  if (allowedKey !== key) return false;
  return key === "host" ? hostMatches(allowedValue, value) : prefixCovers(allowedValue, value);
}

function split(claim: string): [string, string?] {
  const equals = claim.indexOf("=");
  return equals < 0 ? [claim] : [claim.slice(0, equals), claim.slice(equals + 1)];
}

function prefixCovers(allowed: string, claimed: string): boolean {
  const [outer, inner] = [parsePrefix(allowed), parsePrefix(claimed)];
  return outer !== undefined && inner !== undefined && inner.length >= outer.length && covers(outer, inner.address);
}

/** Host names match in any case, with or without a last dot. */
function hostMatches(pattern: string, host: string): boolean {
  return globMatches(judgedHost(pattern.toLowerCase()), judgedHost(host.toLowerCase()));
}

function globMatches(pattern: string, text: string): boolean {
  const parts = pattern.split("*").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`, "s").test(text);
}

/** Checks a parsed claims file; the sentence names the rule at fault. */
export function parseClaimRules(document: unknown, file: string): ClaimRules {
  const bad = (what: string): never => {
    throw new DrawbridgeError("DB_CLAIMS_FILE", `${file} cannot be used: ${what}.`);
  };
  const rules = at(document, "rules");
  if (!Array.isArray(rules)) return bad("it needs a list named `rules`");
  return new ClaimRules(
    rules.map((rule: unknown, index) => parseRule(rule, (what) => bad(`rule ${index + 1}${what}`))),
  );
}

function parseRule(rule: unknown, bad: (what: string) => never): Rule {
  const match = at(rule, "match");
  if (!isRecord(match) || Object.keys(match).length === 0) {
    return bad(" needs a `match` with subject, issuer or serviceAccount");
  }
  for (const [key, value] of Object.entries(match)) {
    if (!MATCH_KEYS.includes(key)) return bad(` matches on \`${key}\`, which does not exist`);
    if (typeof value !== "string") return bad(`: \`${key}\` must be text`);
  }
  const mayClaim = at(rule, "mayClaim");
  if (!Array.isArray(mayClaim)) return bad(" needs a list named `mayClaim`");
  const wrong = mayClaim.find((claim) => typeof claim !== "string" || !isClaim(claim));
  if (wrong !== undefined) return bad(` allows ${JSON.stringify(wrong)}, which is no identifier`);
  const isSet = (name: "exclusive" | "countAsOne"): boolean => {
    const value = at(rule, name);
    if (value === undefined) return false;
    return typeof value === "boolean" ? value : bad(`: \`${name}\` must be true or false`);
  };
  return { match, mayClaim, exclusive: isSet("exclusive"), countAsOne: isSet("countAsOne") };
}

/** Half a file may be good YAML with fewer rules, and those would send agents away. */
const QUIET_MS = 1000;

/** Claim rules in a file of YAML or JSON, read again when it changes. Throws when the file cannot be used at first; later the last good rules stay in force. */
export class ClaimRulesFile extends FollowedFiles<ClaimRules> {
  constructor(file: string, options: FollowOptions<ClaimRules> = {}) {
    const read = () => {
      const what = `${file} cannot be read`;
      const document: unknown = wrapErrors("DB_CLAIMS_FILE", what, () => parse(readFileSync(file, "utf8")));
      return parseClaimRules(document, file);
    };
    super([file], read, { ...options, quietMs: QUIET_MS });
  }
}
