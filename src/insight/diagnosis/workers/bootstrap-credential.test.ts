import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { collectionPath } from "../../../cluster/kube/paths.js";
import { credentialData } from "../../../cluster/nodes/credential/credential.js";
import { JoinedApiStub, tokenFor } from "../../../cluster/nodes/credential/testing/joined-api.js";
import { BOOTSTRAP_SECRET, encoded, type Secret } from "../../../cluster/nodes/objects.js";
import { IgnitionSource } from "../../../cluster/nodes/simulate/testing/source.js";
import { createAuthority } from "../../../tunnel/pki/issue.js";
import { HASH, PoolFixture, pool } from "../testing/pool-fixture.js";

const DAY_MS = 24 * 3_600_000;
const OURS = { "app.kubernetes.io/managed-by": "drawbridge" };

let source: IgnitionSource;
let joined: JoinedApiStub;
let fixture: PoolFixture;
beforeAll(async () => {
  [source, joined] = await Promise.all([IgnitionSource.start(), JoinedApiStub.start()]);
});
afterAll(async () => {
  source.close();
  await joined.close();
});
beforeEach(async () => {
  fixture = await PoolFixture.open(source);
});
afterEach(() => fixture.close());

interface Made {
  readonly server?: string;
  readonly authorityPem?: string;
  /** Days before and after now. */
  readonly age?: number;
  readonly left?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly user?: string;
}

async function join(change: Made = {}): Promise<void> {
  const {
    age = 1,
    labels = OURS,
    left = 6,
    server = joined.url,
    authorityPem = joined.authority.certificatePem,
  } = change;
  const token = tokenFor(Date.now() - age * DAY_MS, Date.now() + left * DAY_MS, change.user);
  await put(credentialData({ cluster: "demo", server, authorityPem }, token), labels);
}

async function put(data: Secret["data"], labels: Readonly<Record<string, string>> = {}): Promise<void> {
  const metadata = { namespace: pool.namespace, name: BOOTSTRAP_SECRET, labels };
  await fixture.api.create(collectionPath("Secret", pool.namespace), {
    ...{ apiVersion: "v1", kind: "Secret", metadata, data },
  } as Secret);
}

const found = async () => (await fixture.findings()).filter(({ check }) => check === "bootstrap-credential");

describe("the credential that machines join with", () => {
  test("is accepted by its API server, which is asked for real", async () => {
    await join();
    const before = joined.shown.length;
    expect(await found()).toMatchObject([
      { state: "ok", message: `${joined.url} accepts the credential that machines join with` },
    ]);
    expect(joined.shown.length).toBe(before + 2);
    expect(await fixture.problems()).toEqual([]);
  });

  test("is refused by its API server", async () => {
    await join();
    joined.isKnown = () => false;
    expect(await found()).toMatchObject([
      { state: "failed", code: "DB_NODE_CREDENTIAL_REFUSED", message: expect.stringContaining("refuses") },
    ]);
    joined.isKnown = () => true;
  });

  test("has ended, and is not shown to anybody", async () => {
    await join({ left: -1 });
    const before = joined.shown.length;
    expect(await found()).toMatchObject([
      { code: "DB_NODE_CREDENTIAL_REFUSED", message: expect.stringMatching(/ended on \d{4}-/) },
    ]);
    expect(joined.shown.length).toBe(before);
  });

  test("with a server, an authority and a token that are all made up is not fine", async () => {
    const { certificatePem } = await createAuthority({ commonName: "bogus" });
    await join({ server: "https://127.0.0.1:1", authorityPem: certificatePem });
    expect(await found()).toMatchObject([
      {
        ...{ state: "warning", code: "DB_NODE_UNCHECKED", remedy: expect.stringContaining("as machines reach it") },
        message: expect.stringContaining("could not be tried from here"),
      },
    ]);
  });

  test.each([
    [
      "of another authority",
      async () => ({ authorityPem: (await createAuthority({ commonName: "other" })).certificatePem }),
    ],
    ["for another name", async () => ({ server: joined.url.replace("127.0.0.1", "localhost") })],
  ])("is not shown to a server with a certificate %s", async (_, change) => {
    await join(await change());
    const before = joined.shown.length;
    expect(await found()).toMatchObject([{ state: "failed", code: "DB_NODE_CREDENTIAL_SERVER" }]);
    expect(joined.shown.length).toBe(before);
  });

  test("may not ask for certificates", async () => {
    await join();
    joined.mayRequest = false;
    expect(await found()).toMatchObject([
      {
        code: "DB_NODE_CREDENTIAL_REFUSED",
        message: expect.stringContaining("may not create certificatesigningrequests"),
      },
    ]);
    joined.mayRequest = true;
  });

  test.each([
    ["user", { username: "somebody", groups: [] }, "join as somebody, and the approver expects system:serviceaccount:"],
    ["groups", { username: "", groups: ["others"] }, "join with the groups others, and the approver expects"],
  ])("has another %s than the approver expects", async (_, identity, words) => {
    const usual = joined.identity!;
    await join();
    joined.identity = { ...identity, username: identity.username || usual.username };
    expect(await found()).toMatchObject([
      {
        ...{ code: "DB_NODE_CREDENTIAL_REFUSED", message: expect.stringContaining(words) },
        remedy: expect.stringContaining("--bootstrap-user"),
      },
    ]);
    joined.identity = usual;
  });

  test("has another user by its own words, where the API server does not say who one is", async () => {
    const usual = joined.identity!;
    joined.identity = undefined;
    await join({ user: "somebody" });
    expect(await found()).toMatchObject([{ message: expect.stringContaining("join as somebody") }]);
    joined.identity = usual;
  });

  test.each([
    ["a person made", {}, 20, 5, "because a person made it"],
    ["its controller should have renewed", OURS, 6, 1, "its controller has not renewed it"],
  ])("ends soon, and %s it", async (_, labels, age, left, words) => {
    await join({ labels, age, left });
    expect(await found()).toMatchObject([
      { state: "warning", code: "DB_NODE_CREDENTIAL_ENDING", message: expect.stringContaining(words) },
    ]);
  });

  test.each([
    ["runs a program", "users: [{name: a, user: {exec: {command: /bin/sh}}}]", "it names exec"],
    ["is no kubeconfig", "{}", "it is empty"],
  ])("cannot be used when it %s", async (_, text, words) => {
    await put({ kubeconfig: encoded(text) });
    expect(await found()).toMatchObject([
      { state: "failed", code: "DB_NODE_CREDENTIAL", message: expect.stringContaining(words) },
    ]);
  });

  test("is missing, which counts unless the payload is made without it", async () => {
    expect(await found()).toMatchObject([{ state: "skipped" }]);
    await fixture.changeSecret(`token-workers-${HASH}`, (secret) => ({
      ...secret,
      data: { ...secret.data, reason: encoded("InvalidConfig") },
    }));
    expect(await found()).toMatchObject([{ state: "failed", code: "DB_NODE_CREDENTIAL" }]);
  });
});
