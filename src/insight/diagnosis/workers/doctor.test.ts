import { readFileSync, writeFileSync } from "node:fs";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { remedies } from "../../../base/errors/catalogue.js";
import { collectionPath } from "../../../cluster/kube/paths.js";
import type { KubeObject } from "../../../cluster/kube/port.js";
import { outcomeOf, requestPath, type SigningRequest } from "../../../cluster/nodes/csr/signing-request.js";
import { annotation, encoded, type Secret } from "../../../cluster/nodes/objects.js";
import type { Condition } from "../../../cluster/nodes/pool/node-pool.js";
import { IgnitionSource } from "../../../cluster/nodes/simulate/testing/source.js";
import { revokeTokens } from "../../../cluster/nodes/token/user-data.js";
import { createAuthority } from "../../../tunnel/pki/issue.js";
import { HASH, PoolFixture, pool, TOKEN } from "../testing/pool-fixture.js";

let source: IgnitionSource;
let fixture: PoolFixture;
beforeAll(async () => {
  source = await IgnitionSource.start();
});
afterAll(() => source.close());
beforeEach(async () => {
  fixture = await PoolFixture.open(source);
});
afterEach(() => fixture.close());

const tokenSecret = `token-workers-${HASH}`;
const data = (change: Readonly<Record<string, string>>) => (secret: Secret) => ({
  ...secret,
  data: { ...secret.data, ...Object.fromEntries(Object.entries(change).map(([key, text]) => [key, encoded(text)])) },
});

async function change(worker: string, edit: (text: string) => string): Promise<void> {
  const file = fixture.store.userDataFile(worker);
  writeFileSync(file, edit(readFileSync(file, "utf8")));
}

describe("workers doctor on a healthy pool", () => {
  test("workers doctor finds nothing on a healthy pool, and uses no machine's token to see that", async () => {
    await fixture.worker("w-0");
    await fixture.worker("w-1", { ownToken: true });
    expect(await fixture.problems()).toEqual([]);
    const asked = fixture.source.asked.map(({ headers }) => headers.authorization ?? "");
    expect(asked).toHaveLength(1);
    expect(Buffer.from(asked[0]!.slice(7), "base64").toString()).not.toBe(TOKEN);
  });

  test("workers doctor reads HyperShift's Secrets beside the control plane, too", async () => {
    const names = [tokenSecret, `user-data-workers-${HASH}`];
    for (const name of names) {
      const { metadata, ...rest } = await fixture.secret(name);
      await fixture.api.delete(`${collectionPath("Secret", pool.namespace)}/${name}`);
      const { annotations = {} } = metadata ?? {};
      const moved = { ...rest, metadata: { name, namespace: "clusters-demo", annotations } };
      await fixture.api.create(collectionPath("Secret", "clusters-demo"), moved);
    }
    await fixture.worker("w-0");
    expect(await fixture.problems()).toEqual([]);
    expect((await fixture.findings()).find(({ check }) => check === "payload")?.evidence).toEqual([
      `Secret clusters-demo/${tokenSecret}`,
    ]);
  });

  test("workers doctor looks only at the workers that were named", async () => {
    await fixture.worker("w-0");
    await fixture.worker("w-1");
    await change("w-1", () => "{}");
    expect(await fixture.problems("w-0")).toEqual([]);
    expect((await fixture.problems("w-1")).map(({ subject }) => subject)).toEqual(["w-1"]);
  });
});

describe("a payload that is not made", () => {
  test("a payload that is not made is explained by the message of the server", async () => {
    await fixture.changeSecret(tokenSecret, data({ reason: "InvalidConfig", message: "the pull secret is missing" }));
    const [one] = await fixture.problems();
    expect(one).toMatchObject({ code: "DB_NODE_PAYLOAD", state: "failed" });
    expect(one?.message).toContain("511: the pull secret is missing");
    expect(one?.remedy).toBe(remedies.DB_NODE_PAYLOAD);
  });

  test("a payload that is not made is explained by the pool's conditions when it has no configuration", async () => {
    const path = `${collectionPath("NodePool", pool.namespace)}/${pool.name}`;
    const object = await fixture.api.get<KubeObject>(path);
    await fixture.api.update(path, { ...object, metadata: { ...object.metadata, annotations: {} } });
    const condition: Condition = {
      ...{ type: "ValidMachineConfig", status: "False", reason: "ValidationFailed", message: "line 3 is no YAML" },
      lastTransitionTime: "",
    };
    const status = { conditions: [condition] };
    await fixture.api.update(`${path}/status`, { ...(await fixture.api.get(path)), status } as KubeObject);
    const [one] = await fixture.problems();
    expect(one).toMatchObject({
      code: "DB_NODE_PAYLOAD",
      evidence: ["ValidMachineConfig is False: line 3 is no YAML"],
    });
  });
});

describe("user data", () => {
  test.each([
    ["that is no config", () => "{}", "a machine would refuse it"],
    ["with another word", (text: string) => text.replace("Bearer ", "bearer "), "not the word Bearer and base64"],
    ["with broken base64", (text: string) => text.replace("Bearer ", "Bearer !"), "not the word Bearer and base64"],
    ["without the header", (text: string) => text.replace("Authorization", "X-Other"), "has no Authorization header"],
  ])("user data %s is a 401, and is written again", async (_, edit, why) => {
    await fixture.worker("w-0");
    const good = readFileSync(fixture.store.userDataFile("w-0"), "utf8");
    await change("w-0", edit);
    const [one] = await fixture.problems();
    expect(one).toMatchObject({ code: "DB_NODE_USER_DATA", subject: "w-0", message: expect.stringContaining(why) });
    await one?.fix?.apply();
    expect(readFileSync(fixture.store.userDataFile("w-0"), "utf8")).toBe(good);
    expect(await fixture.problems()).toEqual([]);
    expect(await one?.fix?.apply()).toContain("is written");
  });

  test("user data with the token before the current one is a warning, with an older one unknown", async () => {
    await fixture.worker("w-0");
    await fixture.changeSecret(tokenSecret, data({ token: "2-".repeat(10), old_token: TOKEN }));
    const [ofPool, old] = await fixture.problems();
    expect(ofPool).toMatchObject({ code: "DB_NODE_USER_DATA_OLD", subject: "clusters/workers", state: "warning" });
    expect(ofPool?.fix).toBeUndefined();
    expect(old).toMatchObject({ code: "DB_NODE_USER_DATA_OLD", subject: "w-0", state: "warning" });
    await fixture.changeSecret(tokenSecret, data({ token: "3-".repeat(10), old_token: "2-".repeat(10) }));
    const codes = (await fixture.problems()).map(({ code, state }) => [code, state]);
    expect(codes).toEqual([
      ["DB_NODE_TOKEN_UNKNOWN", "failed"],
      ["DB_NODE_TOKEN_UNKNOWN", "failed"],
    ]);
  });

  test.each([
    ["in an hour", 3_600_000, "DB_NODE_USER_DATA_OLD", "warning"],
    ["a moment ago", -1_000, "DB_NODE_TOKEN_EXPIRED", "failed"],
  ])("user data of a former configuration that ends %s", async (_, inMs, code, state) => {
    await fixture.worker("w-0");
    const secrets = collectionPath("Secret", pool.namespace);
    const { metadata, ...rest } = await fixture.secret(tokenSecret);
    await fixture.api.delete(`${secrets}/${tokenSecret}`);
    const ends = new Date(Date.now() + inMs).toISOString();
    const annotations = { ...metadata?.annotations, [annotation.tokenExpires]: ends };
    await fixture.api.create(secrets, {
      ...rest,
      metadata: { namespace: pool.namespace, name: "token-workers-0", annotations },
    });
    const found = (await fixture.problems("w-0")).find(({ check }) => check === "user-data");
    expect(found).toMatchObject({ code, state });
  });

  test("user data with a token of its own that was revoked is unknown", async () => {
    await fixture.worker("w-0", { ownToken: true });
    await revokeTokens(fixture.api, pool, ["w-0"]);
    expect((await fixture.problems()).map(({ code }) => code)).toEqual(["DB_NODE_TOKEN_UNKNOWN"]);
  });

  test.each(["removed", "replaced"] as const)(
    "user data of a worker that is being %s gets no token again",
    async (leaving) => {
      await fixture.worker("w-0", { ownToken: true });
      await revokeTokens(fixture.api, pool, ["w-0"]);
      const [one] = await fixture.problems();
      await fixture.store.update("w-0", (worker) => ({ ...worker, leaving }));
      expect(await fixture.problems()).toEqual([]);
      // Decided between the look and the fix.
      expect(await one?.fix?.apply()).toContain("not expected any more");
      expect((await fixture.secret("worker-tokens-workers")).data).toEqual({});
    },
  );

  test("user data of a node that has joined is not checked any more", async () => {
    await fixture.worker("w-0");
    await change("w-0", () => "{}");
    await fixture.api.create("/api/v1/nodes", { apiVersion: "v1", kind: "Node", metadata: { name: "w-0" } });
    expect((await fixture.problems()).map(({ code, evidence }) => [code, evidence])).toEqual([
      ["DB_NODE_NOT_READY", ["its kubelet has reported nothing yet", expect.stringContaining("provides a network")]],
    ]);
  });
});

describe("the Ignition server", () => {
  test.each([
    [200, "it is no Ignition server of a pool"],
    [401, "removes the Authorization header"],
    [404, "there is no such path"],
    [503, "answers 511 to a token that it does not know"],
  ])("an Ignition server that answers %i is not what machines look for", async (status, why) => {
    fixture.source.answer = (_, response) => response.writeHead(status).end();
    const [one] = await fixture.problems();
    expect(one).toMatchObject({ code: "DB_NODE_IGNITION_UNREACHABLE", message: expect.stringContaining(why) });
  });

  test("an Ignition server is named without the login in its address", async () => {
    await fixture.worker("w-0");
    await change("w-0", (text) => text.replace("https://", "https://me:s3cr3t@"));
    fixture.source.answer = (_, response) => response.writeHead(404).end();
    const found = await fixture.problems("w-0");
    expect(found.map(({ code }) => code)).toEqual(["DB_NODE_IGNITION_UNREACHABLE"]);
    expect(JSON.stringify(found)).not.toContain("s3cr3t");
  });

  test("an Ignition server that does not answer is unreachable", async () => {
    fixture.close();
    fixture = await PoolFixture.open();
    fixture.source.close();
    const [one] = await fixture.problems();
    expect(one).toMatchObject({
      code: "DB_NODE_IGNITION_UNREACHABLE",
      evidence: ["given to clusters/workers", expect.stringContaining("ECONNREFUSED")],
    });
  });

  test("an Ignition server with a certificate for another address or of another authority has a code of its own", async () => {
    const { port } = new URL(fixture.source.url("/"));
    await fixture.worker("w-0");
    await change("w-0", (text) => text.replace("127.0.0.1", "localhost"));
    const { certificatePem } = await createAuthority({ commonName: "another" });
    await fixture.worker("w-1");
    await change("w-1", (text) =>
      text.replace(/"data:text\/plain;base64,[^"]*"/, `"data:;base64,${encoded(certificatePem)}"`),
    );
    const found = (await fixture.problems()).map(({ code, evidence, message }) => [code, message, evidence]);
    expect(found).toEqual([
      [
        ...[
          "DB_NODE_IGNITION_NAME",
          expect.stringContaining(`https://localhost:${port}/ignition is not for that address`),
        ],
        ["given to w-0", "ERR_TLS_CERT_ALTNAME_INVALID", expect.stringContaining("IP Address:127.0.0.1")],
      ],
      ["DB_NODE_IGNITION_NAME", expect.stringContaining("another authority"), expect.arrayContaining(["given to w-1"])],
    ]);
  });
});

describe("certificate requests", () => {
  test("certificate requests that keep every rule are approved, as the approver would, and remembered", async () => {
    await fixture.worker("w-0");
    await fixture.file("csr-1", "w-0");
    const [one] = await fixture.problems();
    expect(one).toMatchObject({ code: "DB_NODE_CSR_PENDING", subject: "w-0" });
    expect(await one?.fix?.apply()).toContain("csr-1 is approved");
    expect(outcomeOf(await fixture.api.get<SigningRequest>(requestPath("csr-1")))).toBe("approved");
    expect((await fixture.context.memory().load()).get("w-0")?.client?.request).toBe("csr-1");
    expect(await one?.fix?.apply()).toContain("was left alone: somebody decided it meanwhile");
  });

  test("certificate requests of two machines under one name are not both approved", async () => {
    await fixture.worker("w-0");
    await fixture.file("csr-1", "w-0");
    await fixture.file("csr-2", "w-0");
    const found = await fixture.problems();
    expect(found).toHaveLength(2);
    const results = [await found[0]?.fix?.apply(), await found[1]?.fix?.apply()];
    expect(results[1]).toContain("was left alone");
    const outcomes = ["csr-1", "csr-2"].map(async (name) =>
      outcomeOf(await fixture.api.get<SigningRequest>(requestPath(name))),
    );
    expect(await Promise.all(outcomes)).toEqual(["approved", "pending"]);
    expect((await fixture.context.memory().load()).get("w-0")?.client?.request).toBe("csr-1");
  });

  test("certificate requests that break a rule are explained and not approved", async () => {
    await fixture.worker("w-0", { deadline: new Date(Date.now() - 30_000).toISOString() });
    await fixture.file("csr-1", "w-0");
    await fixture.file("csr-2", "intruder");
    const found = await fixture.problems();
    expect(found.map(({ evidence, fix, subject }) => [subject, evidence[0], fix])).toEqual([
      ["w-0", "rule window", undefined],
      ["intruder", "rule expected", undefined],
    ]);
    expect(found[0]?.remedy).toContain("workers userdata w-0 --renew");
    expect((await fixture.problems("w-0")).map(({ subject }) => subject)).toEqual(["w-0"]);
  });

  test("certificate requests of other signers are told after a minute with who decides, and never approved", async () => {
    await fixture.worker("w-0");
    const signerName = "kubernetes.io/kube-apiserver-client";
    await fixture.file("csr-ovn", "w-0", {
      signerName,
      username: "system:node:w-0",
      commonName: "system:ovn-node:w-0",
    });
    await fixture.file("csr-far", "w-1", {
      signerName,
      username: "system:node:w-1",
      commonName: "system:ovn-node:w-1",
    });
    await fixture.file("csr-vendor", "", { signerName: "example.com/x", username: "somebody", commonName: "somebody" });
    expect(await fixture.problems()).toEqual([]);
    fixture.aheadMs = 90_000;
    const [one, ...others] = await fixture.problems();
    expect([one?.code, one?.state, one?.subject, one?.fix]).toEqual([
      "DB_NODE_CSR_PENDING",
      "warning",
      "w-0",
      undefined,
    ]);
    expect(one?.message).toMatch(
      /^csr-ovn asks kubernetes.io\/kube-apiserver-client for a certificate of system:ovn-node:w-0 since 9\d s, and network-node-identity has not/,
    );
    expect([one?.remedy, others]).toEqual(["See that network-node-identity runs: drawbridge never approves it.", []]);
  });
});

describe("workers doctor when a check throws", () => {
  test("a check that throws is DB_NODE_UNCHECKED, and the other checks run all the same", async () => {
    await fixture.worker("w-0");
    await change("w-0", () => "{}");
    const memory = { metadata: { name: "approver", namespace: "drawbridge" }, data: { "w-0": "{" } };
    await fixture.api.create(collectionPath("ConfigMap", "drawbridge"), {
      ...{ apiVersion: "v1", kind: "ConfigMap", ...memory },
    });
    const found = await fixture.problems();
    expect(found.map(({ check, code, state }) => [check, code, state])).toEqual([
      ["user-data", "DB_NODE_USER_DATA", "failed"],
      ["requests", "DB_NODE_UNCHECKED", "failed"],
    ]);
  });
});
