import { expect, test } from "vitest";
import type { RefusedFetch, ServedFetch } from "../../../cluster/ignition/server/fetches.js";
import { createAuthority, issueCertificate } from "../../../tunnel/pki/issue.js";
import { CertificateReader } from "../admin/certificates.js";
import { ObservedIgnitionServer } from "./ignition.js";

test("an Ignition server reports payloads served, requests refused and its certificate's end", async () => {
  const subject = new ObservedIgnitionServer();
  expect(subject.process()).toMatchObject({ role: "ignition", ready: false });
  const passedOn: object[] = [];
  const recorder = subject.watch({
    served: (fetch) => passedOn.push(fetch),
    refused: (fetch) => passedOn.push(fetch),
  });
  const served: ServedFetch = {
    at: 1,
    remote: "10.0.0.1",
    pool: "clusters/workers",
    secret: "token-workers",
    claimed: {},
  };
  const turned: RefusedFetch = {
    at: 2,
    remote: "10.0.0.2",
    why: "Token not found in cache",
    claimed: { pool: "workers" },
  };
  recorder.served(served);
  recorder.refused(turned);
  expect(passedOn).toEqual([served, turned]);
  expect(subject.totals()).toMatchObject({ payloadsServed: 1, fetchesRefused: 1 });
  expect(subject.refusals.since(0)).toMatchObject([
    { target: "workers", why: "Token not found in cache", remote: "10.0.0.2" },
  ]);

  const authority = await createAuthority({ commonName: "root" });
  const pair = await issueCertificate(authority, {
    use: "server",
    commonName: "ignition",
    dnsNames: ["i.example"],
  });
  subject.up("Secret serving", () => ({ cert: pair.certificatePem, key: pair.privateKeyPem }));
  expect(subject.process().ready).toBe(true);
  const reader = new CertificateReader();
  expect(subject.certificates().flatMap((used) => reader.describe(used))).toMatchObject([
    { file: "Secret serving", use: "machines", subject: "CN=ignition", names: ["DNS:i.example"] },
  ]);
  expect(JSON.stringify(subject.certificates())).not.toContain("PRIVATE");
});
