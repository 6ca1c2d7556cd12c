import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { createAuthority } from "../../../tunnel/pki/issue.js";
import { defaultPolicy } from "../csr/request-context.js";
import { encoded, type Secret, secretText } from "../objects.js";
import { type CredentialAnswer, credentialData, readCredential, tryCredential } from "./credential.js";
import { JoinedApiStub, tokenFor } from "./testing/joined-api.js";

const from = Date.parse("2031-01-01T00:00:00Z");
const until = Date.parse("2031-01-08T00:00:00Z");
const token = tokenFor(from, until);

let joined: JoinedApiStub;
beforeAll(async () => {
  joined = await JoinedApiStub.start();
});
afterAll(() => joined.close());

const secretWith = (kubeconfig: string): Secret => ({
  metadata: { name: "bootstrap-kubeconfig", namespace: "drawbridge" },
  data: { kubeconfig: encoded(kubeconfig) },
});
const made = (server = joined.url, authorityPem = joined.authority.certificatePem): Secret => ({
  ...secretWith(""),
  data: credentialData({ cluster: "demo", server, authorityPem }, token),
});
/** The kubeconfig after a change of its cluster and user. */
const changed = (cluster: object, user: object = {}) => {
  const kubeconfig = parse(secretText(made(), "kubeconfig") ?? "");
  Object.assign(kubeconfig.clusters[0].cluster, cluster);
  Object.assign(kubeconfig.users[0].user, user);
  return secretWith(stringify(kubeconfig));
};

describe("the kubeconfig that machines join with", () => {
  test("says after it was written whom it is for, from when and until when", async () => {
    expect(await readCredential(made())).toMatchObject({
      ...{ server: joined.url, authorityPem: joined.authority.certificatePem },
      ...{ life: { from, until }, user: defaultPolicy.bootstrapUser },
    });
  });

  test.each([
    ["runs a program", () => changed({}, { exec: { command: "/bin/sh" } }), "it names exec"],
    ["names a file with a token", () => changed({}, { tokenFile: "/etc/passwd" }), "it names tokenFile"],
    [
      "names a file with an authority",
      () => changed({ "certificate-authority": "/a" }),
      "it names certificate-authority",
    ],
    [
      "trusts anybody",
      () => changed({ "certificate-authority-data": "", "insecure-skip-tls-verify": true }),
      "no certificate-authority-data",
    ],
    ["asks without TLS", () => changed({ server: "http://api.example" }), "does not begin with https://"],
    ["is empty", () => secretWith(""), "it is empty"],
    ["is missing", () => ({ metadata: { name: "x", namespace: "y" } }), "in the Secret y/x cannot be used"],
  ])("is not used when it %s", async (_, secret, why) => {
    await expect(readCredential(secret())).rejects.toThrow(why);
  });

  test("is not used when it is broken, and its token is not repeated", async () => {
    await expect(readCredential(secretWith("users: [{user: {token: s3cr3t\n"))).rejects.toThrow(
      /^(?!.*s3cr3t).*is not valid YAML/,
    );
  });
});

describe("a bootstrap credential that is tried", () => {
  const attempt = (secret: Secret): Promise<CredentialAnswer> => readCredential(secret).then(tryCredential);

  test("is accepted with the user and groups that the API sees", async () => {
    expect(await attempt(made())).toEqual({
      outcome: "accepted",
      identity: { username: defaultPolicy.bootstrapUser, groups: defaultPolicy.bootstrapGroups },
      mayRequest: true,
    });
  });

  test("is accepted without a user where the API does not say who one is", async () => {
    const { identity } = joined;
    joined.identity = undefined;
    expect(await attempt(made())).toEqual({ outcome: "accepted", identity: undefined, mayRequest: true });
    joined.identity = identity;
  });

  test("is refused when the API does not know it", async () => {
    joined.isKnown = () => false;
    expect(await attempt(made())).toMatchObject({ outcome: "refused", error: { code: "DB_API_UNAUTHENTICATED" } });
    joined.isKnown = () => true;
  });

  test.each([
    [
      "by another authority",
      async () => made(joined.url, (await createAuthority({ commonName: "other" })).certificatePem),
    ],
    ["for another name", async () => made(joined.url.replace("127.0.0.1", "localhost"))],
  ])("is not shown to a server with a certificate %s", async (_, secret) => {
    const before = joined.shown.length;
    expect(await attempt(await secret())).toMatchObject({ outcome: "server", error: { code: "DB_API_CERTIFICATE" } });
    expect(joined.shown.length).toBe(before);
  });

  test("is not tried where nobody answers", async () => {
    const answer = await attempt(made("https://127.0.0.1:1"));
    expect(answer).toMatchObject({ outcome: "untried", error: { code: "DB_API_UNREACHABLE" } });
  });
});
