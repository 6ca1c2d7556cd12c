/**
 * Brings a set that somebody keeps (in Secrets, say) up to date in memory: what is good stays as it is, the rest is
 * issued again, and whoever keeps it learns what and why.
 */
import { inFormat, issueLeaf } from "./certificates-for.js";
import { type Authority, createAuthority, extendAuthority, loadAuthority, type PemPair } from "./issue.js";
import { certificatesIn, leafIn } from "./pem.js";
import type { ProfileSet, SignerPlan } from "./profiles/profile-set.js";
import { issueError } from "./request.js";
import { objectionToLeaf, objectionToSigner } from "./still-good.js";

/** As it was found; the first certificate is the one that signs, others are still trusted. */
export interface KeptSigner extends PemPair {
  /** Trusted already, signs nothing yet. */
  readonly next?: PemPair | undefined;
}

export interface KeptPki {
  readonly signers: ReadonlyMap<string, KeptSigner>;
  readonly leaves: ReadonlyMap<string, PemPair>;
}

export interface UpToDatePki extends KeptPki {
  /** PEM of every certificate that is trusted together. */
  readonly bundles: ReadonlyMap<string, string>;
  readonly issued: readonly { readonly name: string; readonly why: string }[];
}

/**
 * Other signers without a break, in three steps, each given time to reach everybody: the new ones are trusted; they
 * sign, and all leaves are issued again; the old ones are no longer trusted.
 */
export type RotationStep = "introduce" | "switch" | "retire";

export interface KeepOptions {
  /** How long before its end a leaf is due. Of lives under three times that: in the last third. */
  readonly renewBeforeMs: number;
  readonly rotation?: RotationStep | undefined;
  readonly now?: Date;
}

export async function keepOrIssue(set: ProfileSet, kept: KeptPki, options: KeepOptions): Promise<UpToDatePki> {
  const { renewBeforeMs, rotation, now = new Date() } = options;
  const issued: { name: string; why: string }[] = [];
  const signers = new Map<string, KeptSigner>();
  const authorities = new Map<string, Authority>();
  for (const plan of set.signers) {
    const state = new SignerState(set, plan, now, (why) => issued.push({ name: plan.name, why }));
    const signer = await state.stepped(await state.current(kept.signers.get(plan.name)), rotation);
    signers.set(plan.name, signer);
    authorities.set(plan.name, await loadAuthority(first(signer)));
  }
  const leaves = new Map<string, PemPair>();
  for (const plan of set.leaves) {
    const authority = authorities.get(plan.signer)!;
    const signer = leafIn(authority.certificatePem);
    const found = kept.leaves.get(plan.name);
    const why =
      found === undefined
        ? "it did not exist"
        : objectionToLeaf(found, { form: set, plan, signer, renewBeforeMs, now });
    if (why !== undefined) issued.push({ name: plan.name, why });
    leaves.set(plan.name, why === undefined ? found! : await issueLeaf(set, plan, authority, now));
  }
  return { signers, leaves, bundles: bundlesOf(set, signers), issued };
}

class SignerState {
  readonly #set: ProfileSet;
  readonly #plan: SignerPlan;
  readonly #now: Date;
  readonly #tell: (why: string) => void;

  constructor(set: ProfileSet, plan: SignerPlan, now: Date, tell: (why: string) => void) {
    this.#set = set;
    this.#plan = plan;
    this.#now = now;
    this.#tell = tell;
  }

  /** A signer without its key cannot be mended: a new one takes its place, and the old one stays trusted. */
  async current(found: KeptSigner | undefined): Promise<KeptSigner> {
    const objection = found === undefined ? "it did not exist" : objectionToSigner(first(found), this.#plan);
    if (objection !== undefined) {
      this.#tell(objection);
      const made = await this.#make();
      return { ...made, certificatePem: made.certificatePem + stillGood(found?.certificatePem ?? "", this.#now) };
    }
    return this.#longEnough(found!);
  }

  async stepped(signer: KeptSigner, step: RotationStep | undefined): Promise<KeptSigner> {
    if (step === "introduce" && signer.next === undefined) {
      this.#tell("a next one is trusted beside it");
      return { ...signer, next: await this.#make() };
    }
    if (step === "switch") {
      if (signer.next === undefined)
        throw issueError(`${this.#plan.name} has no next signer yet; do the step "introduce" first`);
      this.#tell("the next one signs from now on");
      return { ...signer.next, certificatePem: signer.next.certificatePem + signer.certificatePem };
    }
    if (step === "retire" && certificatesIn(signer.certificatePem).length > 1) {
      this.#tell("older ones are no longer trusted");
      return { ...signer, ...first(signer) };
    }
    return signer;
  }

  /** The same key with a new life, when its own end would cut leaves short. */
  async #longEnough(signer: KeptSigner): Promise<KeptSigner> {
    const current = first(signer);
    const end = Date.parse(leafIn(current.certificatePem).validTo);
    const longest = Math.max(0, ...this.#leaves().map(({ validForMs }) => validForMs));
    if (end - this.#now.getTime() >= longest) return signer;
    this.#tell(`it ends ${new Date(end).toISOString()}; its key stays`);
    const { backdateMs } = this.#set;
    const longer = await extendAuthority(await loadAuthority(current), { ...this.#plan, backdateMs, now: this.#now });
    return { ...signer, certificatePem: longer.certificatePem + others(signer.certificatePem) };
  }

  async #make(): Promise<PemPair> {
    const { key, backdateMs } = this.#set;
    const made = await createAuthority({ ...this.#plan, key, backdateMs, now: this.#now });
    const { certificatePem, privateKeyPem } = inFormat(this.#set, made);
    return { certificatePem, privateKeyPem };
  }

  #leaves() {
    return this.#set.leaves.filter(({ signer }) => signer === this.#plan.name);
  }
}

/** All that the members of each bundle stand for, each certificate once. */
function bundlesOf({ bundles }: ProfileSet, signers: ReadonlyMap<string, KeptSigner>): ReadonlyMap<string, string> {
  return new Map(
    bundles.map(({ name, signers: members }) => {
      const texts = members.map((member) => {
        const { certificatePem, next } = signers.get(member)!;
        return certificatePem + (next?.certificatePem ?? "");
      });
      return [name, [...new Set(certificatesIn(texts.join("")).map(({ pem }) => pem))].join("")];
    }),
  );
}

function first({ certificatePem, privateKeyPem }: PemPair): PemPair {
  const [leading] = safely(certificatePem);
  return { certificatePem: leading?.pem ?? certificatePem, privateKeyPem };
}

const others = (text: string): string =>
  safely(text)
    .slice(1)
    .map(({ pem }) => pem)
    .join("");

function stillGood(text: string, now: Date): string {
  const good = safely(text).filter(({ certificate }) => Date.parse(certificate.validTo) > now.getTime());
  return good.map(({ pem }) => pem).join("");
}

function safely(text: string): ReturnType<typeof certificatesIn> {
  try {
    return certificatesIn(text);
  } catch {
    return [];
  }
}
