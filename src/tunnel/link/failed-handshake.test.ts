import { beforeAll, expect, test } from "vitest";
import { createAuthority, issueCertificate } from "../pki/issue.js";
import { failedHandshake, OwnCertificate } from "./failed-handshake.js";

const HOUR_MS = 3_600_000;
const shown: Record<string, OwnCertificate> = {};

beforeAll(async () => {
  const from = (hours: number) => ({ now: new Date(Date.now() + hours * HOUR_MS), backdateMs: 0 });
  const issuer = await createAuthority({ commonName: "the-ca", ...from(-9) });
  const server = async (hours: number) => {
    const life = { ...from(hours), validForMs: 4 * HOUR_MS };
    const use = { use: "server", commonName: "server", dnsNames: ["a.example"] } as const;
    return (await issueCertificate(issuer, { ...use, ...life })).certificatePem;
  };
  const ended = await createAuthority({ commonName: "old-ca", ...from(-9), validForMs: 8 * HOUR_MS });
  const valid = await server(-1);
  shown.valid = new OwnCertificate(valid);
  shown.expired = new OwnCertificate(await server(-6));
  shown.early = new OwnCertificate(await server(1));
  shown.chained = new OwnCertificate(`${valid}${ended.certificatePem}`);
});

const RENEW = /^Renew this server's certificate, /;
const EXPIRED = /\(TLS alert "[a-z ]+"\), which expired on \d{4}-\S+Z$/;
const NOT_OURS = /\(TLS alert "[a-z ]+"\)$/;

test.each<[alert: string, own: string, reason: RegExp, remedy: RegExp | undefined]>([
  ["certificate expired", "expired", EXPIRED, RENEW],
  ["certificate expired", "chained", /, whose authority "CN=old-ca" expired on \d/, RENEW],
  [
    "certificate expired",
    "valid",
    NOT_OURS,
    /^Compare the peer's clock with this host's, .* the CA in the peer's file/,
  ],
  ["bad certificate", "expired", EXPIRED, RENEW],
  ["bad certificate", "early", /, which is not valid yet, only from \d/, /^Compare this host's clock /],
  ["bad certificate", "valid", NOT_OURS, undefined],
  ["certificate unknown", "expired", EXPIRED, RENEW],
  ["certificate unknown", "valid", NOT_OURS, undefined],
  ["unknown ca", "expired", NOT_OURS, /^Give the peer the CA that issued /],
  ["unsupported certificate", "valid", NOT_OURS, /serverAuth\.$/],
  ["certificate revoked", "valid", NOT_OURS, /^Issue this server a new certificate/],
])("the alert %j about a certificate that is %s", (alert, own, reason, remedy) => {
  const error = Object.assign(new Error("refused"), { reason: `ssl/tls alert ${alert}` });
  const refusal = failedHandshake(error, "h2", () => shown[own]!);
  expect(refusal).toMatchObject({ code: "DB_PEER_DISTRUSTS", reason: expect.stringMatching(reason) });
  if (remedy === undefined) expect(refusal).not.toHaveProperty("remedy");
  else expect(refusal?.remedy).toMatch(remedy);
});
