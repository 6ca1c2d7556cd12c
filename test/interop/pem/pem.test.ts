/**
 * PEM and requests as we read them and as Go does. Whatever we would approve, a signer written in Go must read the same:
 * thousands of spoiled texts and crafted requests are given to both.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { requirePeer } from "../../../peers/index.js";
import { decide } from "../../../src/cluster/nodes/csr/decide.js";
import { plainAddress } from "../../../src/cluster/nodes/csr/names.js";
import { SERVING_SIGNER, type SigningRequest } from "../../../src/cluster/nodes/csr/signing-request.js";
import {
  clusterState,
  inventoryOf,
  nodeOf,
  signingRequest,
  worker,
} from "../../../src/cluster/nodes/testing/requests.js";
import { inspectRequest, type RequestFacts } from "../../../src/tunnel/pki/inspect-request.js";
import { createAuthority } from "../../../src/tunnel/pki/issue.js";
import { certificatesIn, pemText } from "../../../src/tunnel/pki/pem.js";
import { asPem, attributesFor, craftedRequest, dns, ip, nodeSubject } from "../../../src/tunnel/pki/testing/crafted.js";
import { craftedCase } from "./crafted-cases.js";
import { Dice } from "./dice.js";
import { spoiledText } from "./spoiled-text.js";

interface GoRequest {
  readonly commonName: string;
  readonly organizations: readonly string[];
  readonly parts: readonly string[];
  readonly dnsNames: readonly string[];
  readonly addresses: readonly string[];
  readonly emails: readonly string[];
  readonly uris: readonly string[];
  readonly extensions: readonly string[];
  readonly key: string;
  readonly hash: string;
  readonly signatureFits: boolean;
}

interface Answer {
  readonly error?: string;
  readonly request?: GoRequest;
  readonly bundle?: { readonly certificates: readonly string[]; readonly broken: number };
}

const seed = Number(process.env.DRAWBRIDGE_SEED ?? Date.now() % 2 ** 31);
const again = `repeat it with DRAWBRIDGE_SEED=${seed}`;
const peer = requirePeer("pem-judge");

/** Texts have one character for each byte. */
function askGo(kind: "request" | "bundle", texts: readonly string[]): Answer[] {
  const input = JSON.stringify(texts.map((text) => ({ kind, text: Buffer.from(text, "latin1").toString("base64") })));
  const run = spawnSync(peer!, { input, encoding: "utf8", maxBuffer: 1 << 28 });
  expect({ status: run.status, stderr: run.stderr }).toEqual({ status: 0, stderr: "" });
  return JSON.parse(run.stdout) as Answer[];
}

const template = { client: await signingRequest("renewal"), serving: await signingRequest("serving") };

/** The decision where everything that the request asks for is expected of its node, so that only its own form is judged. */
function decisionOn(text: string, facts: RequestFacts): string | undefined {
  const kind = facts.dnsNames.length + facts.ipAddresses.length > 0 ? "serving" : "renewal";
  const user = facts.commonNames[0] ?? "";
  const name = user.replace(/^system:node:/, "");
  const made = kind === "serving" ? template.serving : template.client;
  const spec = { ...made.spec, username: user, request: Buffer.from(text, "latin1").toString("base64") };
  const ips = facts.ipAddresses.map((address) => plainAddress(address) ?? address);
  const inventory = inventoryOf([{ ...worker, name, dnsNames: facts.dnsNames, ips, joined: true }]);
  const around = clusterState(kind, { inventory, memory: new Map(), nodes: new Map([[name, nodeOf(name, ...ips)]]) });
  return decide({ ...made, spec } as SigningRequest, around)?.action;
}

function factsOf(text: string): RequestFacts | undefined {
  try {
    return inspectRequest(text);
  } catch {
    return undefined;
  }
}

const hashOf = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");

/** What a signer would put into the certificate. */
const judged = (
  text: string,
  { commonNames, organizations, dnsNames, ipAddresses, key, signatureFits }: RequestFacts,
) => ({
  hash: hashOf(Buffer.from(text.replaceAll(/-----.*-----|\n/g, ""), "base64")),
  commonNames,
  organizations,
  dnsNames,
  addresses: ipAddresses.map((address) => plainAddress(address)),
  others: [],
  key,
  signatureFits,
});

const signed = (go: GoRequest | undefined) =>
  go && {
    hash: go.hash,
    commonNames: go.parts.filter((part) => part.startsWith("2.5.4.3=")).map((part) => part.slice("2.5.4.3=".length)),
    organizations: go.organizations,
    dnsNames: go.dnsNames,
    addresses: go.addresses.map((address) => plainAddress(address)),
    others: [
      ...[...go.emails, ...go.uris, ...go.extensions.filter((oid) => oid !== "2.5.29.17")],
      ...go.parts.filter((part) => !part.startsWith("2.5.4.3=") && !part.startsWith("2.5.4.10=")),
    ],
    key: go.key,
    signatureFits: go.signatureFits,
  };

/** Says which of them were approved, after both were found to agree on those. */
function approvedOf(texts: readonly string[]): string[] {
  const answers = askGo("request", texts);
  return texts.filter((text, index) => {
    const facts = factsOf(text);
    if (facts === undefined || decisionOn(text, facts) !== "approve") return false;
    const seen = JSON.stringify(text);
    expect(signed(answers[index]!.request), `${again}: ${seen}: ${answers[index]!.error}`).toEqual(judged(text, facts));
    return true;
  });
}

describe.skipIf(peer === undefined)("what we would approve is what a signer in Go reads", () => {
  const names = attributesFor(dns("w0"), ip(10, 0, 0, 10));
  const good = [
    craftedRequest(),
    craftedRequest({ attributes: names }),
    craftedRequest({ subject: nodeSubject("w1") }),
  ];
  const forged = craftedRequest({
    subject: nodeSubject("control-plane-0"),
    attributes: attributesFor(dns("kubernetes")),
  });
  const others = [...good, forged].flatMap((der) => [
    asPem(der),
    pemText("NEW CERTIFICATE REQUEST", der),
    pemText("CERTIFICATE", der),
    asPem(der).replace("-----\n", "-----\nX: -----\n\n"),
    asPem(der).replace(/=\n/, "\n=\n"),
  ]);

  test("in 6,000 spoiled texts", () => {
    const dice = new Dice(seed);
    const texts = Array.from({ length: 6000 }, () => spoiledText(asPem(dice.of([...good, forged])), dice, others));
    const approved = approvedOf(texts);
    // Neither side may be missing, or the comparison is of no use.
    expect(approved.length, again).toBeGreaterThan(texts.length / 10);
    const odd = askGo("request", texts).filter(({ request }) => request !== undefined).length;
    expect(odd - approved.length, again).toBeGreaterThan(texts.length / 10);
  });

  test("in 6,000 crafted requests", () => {
    const dice = new Dice(seed + 1);
    const texts = Array.from({ length: 6000 }, () => asPem(craftedCase(dice)));
    const approved = approvedOf(texts);
    expect(approved.length, again).toBeGreaterThan(texts.length / 40);
    const read = askGo("request", texts).filter(({ request }) => request?.signatureFits).length;
    expect(read - approved.length, again).toBeGreaterThan(texts.length / 10);
  });

  test("in requests as kubelets, openssl and we ourselves write them", () => {
    const texts = [asPem(good[0]!), asPem(good[1]!), asPem(good[0]!).trimEnd()];
    expect(approvedOf(texts)).toEqual(texts);
    expect(template.serving.spec?.signerName).toBe(SERVING_SIGNER);
  });
});

describe.skipIf(peer === undefined)("bundles of certificates", () => {
  test("hold for us what they hold for Go, in 6,000 spoiled texts", async () => {
    const made = await Promise.all(["a", "b", "c"].map((commonName) => createAuthority({ commonName })));
    const plain = made.map(({ certificatePem }) => certificatePem);
    const [first = ""] = plain;
    const more = [
      ...[...plain, made[0]!.privateKeyPem, "# a comment\n", "subject=CN = a: b\n", "\n\n", "text without an end"],
      ...[first.replaceAll("CERTIFICATE", "TRUSTED CERTIFICATE"), first.replaceAll("CERTIFICATE", "X509 CERTIFICATE")],
      first.replace("-----\n", "-----\nX: y\n\n"),
      ...[first.replace("-----\n", "-----\n\n"), first.replace(/M/, "N"), first.replaceAll("\n", "\r\n")],
      pemText(
        "CERTIFICATE",
        Buffer.concat([Buffer.from(first.replaceAll(/-----.*-----/g, ""), "base64"), Buffer.of(0)]),
      ),
      pemText("CERTIFICATE", Buffer.from(first)),
    ];
    const dice = new Dice(seed + 2);
    const texts = Array.from({ length: 6000 }, () => {
      const parts = Array.from({ length: 1 + dice.below(3) }, () => spoiledText(dice.of(plain), dice, more));
      return parts.join(dice.of(["", "\n", "# text\n"]));
    });
    const answers = askGo("bundle", texts);
    const lists = texts.map((text, index) => {
      const { broken, certificates } = answers[index]!.bundle!;
      const expected = broken > 0 ? "broken" : certificates;
      expect(oursIn(text), `${again}: ${JSON.stringify(text)}`).toEqual(expected);
      return certificates.length;
    });
    for (const count of [0, 1, 2, 3])
      expect(lists.filter((length) => length === count).length, again).toBeGreaterThan(100);
  });

  function oursIn(text: string): readonly string[] | "broken" {
    try {
      return certificatesIn(text).map(({ certificate }) => hashOf(certificate.raw));
    } catch {
      return "broken";
    }
  }
});
