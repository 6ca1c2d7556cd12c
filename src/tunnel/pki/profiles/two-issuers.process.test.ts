/**
 * P1: the bootstrap profile has two issuers, ours and the shell that an OpenShift bootstrap host runs. One table of
 * assertions reads both, through openssl. With DRAWBRIDGE_OPENSSL_111 (path of an openssl 1.1.1, as RHEL 8 has it) the
 * shell is run with that one, too.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type PkiManifest, readPkiManifest } from "../manifest.js";
import type { KeyKind } from "../request.js";
import { openssl, opensslAvailable, publicKeyOf, type Shown, show, verifies } from "../testing/openssl.js";
import { certificatesFor, writePki } from "../write-pki.js";

type Issuer = (dir: string, key: KeyKind, addresses: readonly string[]) => Promise<void> | void;

const script = fileURLToPath(new URL("../../../cluster/bootstrap/shell/certs.sh", import.meta.url));
const scratch = mkdtempSync(join(tmpdir(), "drawbridge-two-issuers-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const ours: Issuer = async (dir, key, addresses) => {
  const issued = await certificatesFor("bootstrap", { ipAddresses: addresses, key, organization: "openshift" });
  await writePki(dir, issued);
};

/** Runs the script with only what it may count on; `path` decides which openssl it finds. */
function shell(path = process.env.PATH): Issuer {
  return (dir, key, addresses) => {
    const env = { PATH: path, KONNECTIVITY_TLS_DIR: dir, KONNECTIVITY_KEY: key === "rsa2048" ? "rsa" : "ec" };
    execFileSync("bash", [script, ...addresses], { env, stdio: ["ignore", "pipe", "pipe"] });
  };
}

const issuers: Record<string, Issuer> = { "our issuer": ours, "certs.sh": shell() };
const old = process.env.DRAWBRIDGE_OPENSSL_111;
if (old) {
  symlinkSync(old, join(scratch, "openssl"));
  const version = execFileSync(old, ["version"], { encoding: "utf8" });
  if (!version.startsWith("OpenSSL 1.1.1")) throw new Error(`DRAWBRIDGE_OPENSSL_111 is ${version}`);
  issuers["certs.sh with openssl 1.1.1"] = shell(`${scratch}:${process.env.PATH}`);
}

const families: [string, string[], string][] = [
  ["IPv4", ["192.0.2.10"], "IP Address:192.0.2.10"],
  ["IPv6", ["2001:db8::a"], "IP Address:2001:DB8:0:0:0:0:0:A"],
  ["dual stack", ["2001:db8::a", "192.0.2.10"], "IP Address:2001:DB8:0:0:0:0:0:A, IP Address:192.0.2.10"],
];

const forms = [
  { key: "p256", publicKey: "256 bit P-256", signature: "ecdsa-with-SHA256", usage: "Digital Signature" },
  {
    key: "rsa2048",
    publicKey: "2048 bit",
    signature: "sha256WithRSAEncryption",
    usage: "Digital Signature, Key Encipherment",
  },
] as const;

const hour = 3_600_000;

/** Addresses do not depend on the kind of key: RSA, which is slow to make, is tried with the longest list only. */
const cases = Object.entries(issuers).flatMap(([issuer, make]) =>
  forms.flatMap((form) =>
    (form.key === "rsa2048" ? families.slice(-1) : families).map(([family, addresses, names]) => ({
      issuer,
      make,
      family,
      addresses,
      names,
      ...form,
    })),
  ),
);

describe.skipIf(!opensslAvailable()).each(cases)("P1 $issuer, $key, $family", (wanted) => {
  const dir = join(scratch, `${wanted.issuer} ${wanted.key} ${wanted.family}`.replaceAll(" ", "-"));
  const at = (name: string) => join(dir, name);
  let shown: Record<"ca" | "server" | "agent", Shown>;
  let startedAt: number;

  beforeAll(async () => {
    startedAt = Math.floor(Date.now() / 1000) * 1000;
    await wanted.make(dir, wanted.key, wanted.addresses);
    shown = { ca: show(at("ca.crt")), server: show(at("server.crt")), agent: show(at("agent.crt")) };
  }, 60_000);

  test("the chain verifies for its purpose and for no other", () => {
    expect(verifies(at("server.crt"), at("ca.crt"), "sslserver")).toBe(true);
    expect(verifies(at("agent.crt"), at("ca.crt"), "sslclient")).toBe(true);
    expect(verifies(at("server.crt"), at("ca.crt"), "sslclient")).toBe(false);
    expect(verifies(at("agent.crt"), at("ca.crt"), "sslserver")).toBe(false);
  });

  test("subjects are the ones that OpenShift's own script writes", () => {
    expect(shown.ca.subject).toBe("CN=konnectivity-signer,O=openshift");
    expect(shown.server.subject).toBe("CN=konnectivity-server,O=openshift");
    expect(shown.agent.subject).toBe("CN=konnectivity-agent,O=openshift");
    for (const each of Object.values(shown)) expect(each.issuer).toBe(shown.ca.subject);
  });

  test("the signer may sign leaves and nothing deeper", () => {
    const { "Subject Key Identifier": keyId, ...rest } = shown.ca.extensions;
    expect(rest).toEqual({
      "Basic Constraints": "critical CA:TRUE, pathlen:0",
      "Key Usage": "critical Digital Signature, Certificate Sign, CRL Sign",
    });
    expect(keyId).toMatch(/^[0-9A-F:]{59}$/);
  });

  test("leaves have exactly the extensions of the profile", () => {
    const leaf = (own: Record<string, string>) => ({
      "Basic Constraints": "critical CA:FALSE",
      "Key Usage": `critical ${wanted.usage}`,
      "Subject Key Identifier": expect.stringMatching(/^[0-9A-F:]{59}$/),
      "Authority Key Identifier": expect.stringMatching(`^(keyid:)?${shown.ca.extensions["Subject Key Identifier"]}$`),
      ...own,
    });
    expect(shown.server.extensions).toEqual(
      leaf({ "Extended Key Usage": "TLS Web Server Authentication", "Subject Alternative Name": wanted.names }),
    );
    expect(shown.agent.extensions).toEqual(leaf({ "Extended Key Usage": "TLS Web Client Authentication" }));
  });

  test("certificates are valid for a day from now and from two hours before", () => {
    for (const { notBefore, notAfter } of Object.values(shown)) {
      const made = notAfter.getTime() - 24 * hour;
      expect(made).toBeGreaterThanOrEqual(startedAt);
      expect(made).toBeLessThanOrEqual(Date.now());
      expect(made - notBefore.getTime()).toBe(2 * hour);
    }
  });

  test("keys and signatures are ones that a FIPS host accepts, and keys fit", () => {
    for (const each of Object.values(shown)) {
      expect([each.publicKey, each.signature]).toEqual([wanted.publicKey, wanted.signature]);
    }
    for (const name of ["server", "agent"]) {
      expect(publicKeyOf("key", at(`${name}.key`))).toBe(publicKeyOf("certificate", at(`${name}.crt`)));
    }
  });

  test("serials are random and not negative", () => {
    const serials = ["ca", "server", "agent"].map((name) =>
      openssl("x509", "-in", at(`${name}.crt`), "-noout", "-serial"),
    );
    expect(new Set(serials).size).toBe(3);
    for (const serial of serials) expect(serial).toMatch(/^serial=[0-9A-F]{30,40}\n$/);
  });

  test("the directory holds the set only, readable by its owner, without the signer's key", () => {
    expect(readdirSync(dir).sort()).toEqual([
      "agent.crt",
      "agent.key",
      "ca.crt",
      "pki.json",
      "server.crt",
      "server.key",
    ]);
    for (const name of readdirSync(dir)) expect(statSync(at(name)).mode & 0o777).toBe(0o600);
    expect(statSync(dir).mode & 0o777).toBe(0o700);
    for (const name of ["server.key", "agent.key"]) {
      expect(readFileSync(at(name), "utf8")).toMatch(
        /^-----BEGIN PRIVATE KEY-----\n[\s\S]+-----END PRIVATE KEY-----\n$/,
      );
    }
  });

  test("the manifest says what was made, the same from both", async () => {
    const manifest = await readPkiManifest(dir);
    const dates = { notBefore: shown.ca.notBefore.toISOString(), notAfter: shown.ca.notAfter.toISOString() };
    const common = { organizations: ["openshift"], validForMs: 24 * hour, ...dates };
    const leaf = { signer: "ca", dnsNames: [], ...common };
    expect(manifest).toEqual({
      version: 1,
      profile: "bootstrap",
      madeAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      signerKeysKept: false,
      options: expect.objectContaining({ ipAddresses: wanted.addresses, key: wanted.key, organization: "openshift" }),
      key: wanted.key,
      keyFormat: "pkcs8",
      backdateMs: 2 * hour,
      signers: [{ name: "ca", commonName: "konnectivity-signer", organizationalUnits: [], ...common }],
      leaves: [
        { name: "server", use: "server", commonName: "konnectivity-server", ipAddresses: wanted.addresses, ...leaf },
        { name: "agent", use: "client", commonName: "konnectivity-agent", ipAddresses: [], ...leaf },
      ],
      bundles: [],
    } satisfies Record<keyof PkiManifest, unknown>);
  });
});
