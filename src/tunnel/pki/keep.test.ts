/** Numbers are those of HyperShift's conformance list. */
import { X509Certificate } from "node:crypto";
import { describe, expect, test } from "vitest";
import { type KeepOptions, type KeptPki, keepOrIssue, type UpToDatePki } from "./keep.js";
import { certificatesIn } from "./pem.js";
import type { ProfileSet } from "./profiles.js";
import { type HostedOptions, hostedProfile } from "./profiles.js";

const day = 24 * 3_600_000;
const start = new Date("2030-01-01T00:00:00Z");
const onDay = (days: number) => new Date(start.getTime() + days * day);
const nothing: KeptPki = { signers: new Map(), leaves: new Map() };
const options: HostedOptions = { namespace: "clusters-one", externalAddresses: ["konnectivity.example.test"] };
const wanted = (more: Partial<HostedOptions> = {}) => hostedProfile({ ...options, ...more });
const keep = (kept: KeptPki, set: ProfileSet = wanted(), more: Partial<KeepOptions> = {}) =>
  keepOrIssue(set, kept, { renewBeforeMs: 30 * day, now: start, ...more });
const names = ({ issued }: UpToDatePki) => issued.map(({ name }) => name);
const withLeaf = (kept: KeptPki, name: string, from: string, part?: "certificatePem" | "privateKeyPem"): KeptPki => {
  const [mine, other] = [kept.leaves.get(name)!, kept.leaves.get(from)!];
  const pair = part === undefined ? other : { ...mine, [part]: other[part] };
  return { ...kept, leaves: new Map([...kept.leaves, [name, pair]]) };
};
/** Everybody whose certificate this bundle vouches for. */
const vouched = ({ bundles, leaves }: UpToDatePki, bundle: string, among: KeptPki = { ...nothing, leaves }) => {
  const trusted = certificatesIn(bundles.get(bundle)!).map(({ certificate }) => certificate);
  return [...among.leaves]
    .filter(([, { certificatePem }]) => {
      const leaf = new X509Certificate(certificatePem);
      return trusted.some((signer) => leaf.checkIssued(signer) && leaf.verify(signer.publicKey));
    })
    .map(([name]) => name);
};

describe.each([
  ["separate signers", false],
  ["one signer", true],
])("%s", (_, sharedSigner) => {
  const set = wanted({ sharedSigner });

  // One signer means five RSA keys, which take as long as luck and the machine will have it.
  test("are made once and kept, to the letter", async () => {
    const first = await keep(nothing, set);
    expect(names(first)).toHaveLength(set.signers.length + set.leaves.length);
    const second = await keep(first, set, { now: onDay(300) });
    expect(second.issued).toEqual([]);
    expect([second.signers, second.leaves, second.bundles]).toEqual([first.signers, first.leaves, first.bundles]);
  }, 60_000);
});

describe("14: a leaf is issued again", () => {
  test("when its names change, and no other is", async () => {
    const first = await keep(nothing);
    const next = await keep(first, wanted({ externalAddresses: ["192.0.2.9"] }));
    expect(next.issued).toEqual([{ name: "konnectivity-cluster", why: "it is for other names or addresses" }]);
    const { subjectAltName } = new X509Certificate(next.leaves.get("konnectivity-cluster")!.certificatePem);
    expect(subjectAltName).toContain("IP Address:192.0.2.9");
    expect(subjectAltName).not.toContain("konnectivity.example.test");
  });

  test("in its last thirty days, not before", async () => {
    const first = await keep(nothing);
    expect(names(await keep(first, wanted(), { now: onDay(334.9) }))).toEqual([]);
    const due = await keep(first, wanted(), { now: onDay(335.1) });
    expect(names(due)).toEqual(wanted().leaves.map(({ name }) => name));
    expect([...due.signers]).toEqual([...first.signers]);
  });

  test("with a life of a day in its last third", async () => {
    const short = wanted({ validForMs: day });
    const first = await keep(nothing, short);
    expect(names(await keep(first, short, { now: onDay(0.6) }))).toEqual([]);
    expect(names(await keep(first, short, { now: onDay(0.7) }))).toHaveLength(5);
  });

  test("when another length of life is wanted", async () => {
    const first = await keep(nothing);
    const { issued } = await keep(first, wanted({ validForMs: 100 * day }));
    expect(issued).toContainEqual({ name: "konnectivity-agent", why: "it has another length of life" });
    expect(issued).toHaveLength(5);
  });

  test("when it is damaged, another's, or has another's key", async () => {
    const first = await keep(nothing);
    const cases: [KeptPki, string][] = [
      [withLeaf(first, "konnectivity-agent", "konnectivity-client"), "it has another subject"],
      [withLeaf(first, "konnectivity-agent", "konnectivity-client", "privateKeyPem"), "its key is another's"],
    ];
    for (const [kept, why] of cases) {
      expect((await keep(kept)).issued).toEqual([{ name: "konnectivity-agent", why }]);
    }
    const torn = { certificatePem: "torn", privateKeyPem: "torn" };
    const { issued } = await keep({ ...first, leaves: new Map([...first.leaves, ["konnectivity-server", torn]]) });
    expect(issued).toEqual([{ name: "konnectivity-server", why: "it cannot be read" }]);
  });

  test("when its signer is another one, which HyperShift overlooks", async () => {
    const [first, foreign] = [await keep(nothing), await keep(nothing)];
    const name = "konnectivity-agent-signer";
    const next = await keep({ ...first, signers: new Map([...first.signers, [name, foreign.signers.get(name)!]]) });
    expect(next.issued).toEqual([{ name: "konnectivity-agent", why: "the current signer did not sign it" }]);
    expect(vouched(next, "konnectivity-agent-ca-bundle")).toEqual([
      "konnectivity-agent",
      "konnectivity-control-plane-agent",
    ]);
  });
});

describe("signers", () => {
  test("without their key are replaced, and stay trusted while others change over", async () => {
    const first = await keep(nothing);
    const name = "konnectivity-client-signer";
    const lost = { ...first.signers.get(name)!, privateKeyPem: "" };
    const next = await keep({ ...first, signers: new Map([...first.signers, [name, lost]]) });
    expect(names(next)).toEqual([name, "konnectivity-client"]);
    expect(vouched(next, "konnectivity-client-ca-bundle")).toEqual(["konnectivity-client"]);
    expect(vouched(next, "konnectivity-client-ca-bundle", first)).toEqual(["konnectivity-client"]);
  });

  test("keep their key when their end would cut leaves short", async () => {
    const first = await keep(nothing);
    const next = await keep(first, wanted(), { now: onDay(9.5 * 365) });
    const keyOf = (pki: KeptPki) => pki.signers.get("konnectivity-server-signer")!.privateKeyPem;
    expect(keyOf(next)).toBe(keyOf(first));
    expect(vouched(first, "konnectivity-ca-bundle", next)).toEqual(["konnectivity-server", "konnectivity-cluster"]);
  });

  test("change in three steps, and at each everybody's certificate is trusted by whoever is a step behind", async () => {
    const stages = [await keep(nothing)];
    for (const rotation of ["introduce", "switch", "retire"] as const)
      stages.push(await keep(stages.at(-1)!, wanted(), { rotation }));
    const servers = ["konnectivity-server", "konnectivity-cluster"];
    for (const [index, stage] of stages.entries()) {
      for (const neighbour of [stages[index - 1], stages[index + 1]]) {
        if (neighbour !== undefined) expect(vouched(stage, "konnectivity-ca-bundle", neighbour)).toEqual(servers);
      }
    }
    expect(stages[1]!.leaves).toEqual(stages[0]!.leaves);
    expect(names(stages[2]!)).toHaveLength(9);
    expect(vouched(stages[3]!, "konnectivity-ca-bundle", stages[0])).toEqual([]);
    expect(names(await keep(stages[3]!, wanted(), { rotation: "retire" }))).toEqual([]);
    await expect(keep(stages[3]!, wanted(), { rotation: "switch" })).rejects.toThrow(/has no next signer yet/);
  });
});
