import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer as createHttp } from "node:http";
import type { AddressInfo, Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer as createTls } from "node:tls";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { KubeApiError } from "../../../cluster/kube/errors.js";
import type { KubeApi, KubeObject } from "../../../cluster/kube/port.js";
import { encoded, type Secret } from "../../../cluster/nodes/objects.js";
import { CLUSTER_LABEL } from "../../../cluster/nodes/pool/input.js";
import { pool } from "../../../cluster/nodes/testing/pools.js";
import { makeTokenSecret } from "../../../cluster/nodes/token/token-secret.js";
import { certificatesFor, writePki } from "../../../tunnel/pki/write-pki.js";
import { context, findingsOf, messagesOf } from "../testing/context.js";
import { now } from "../testing/overview.js";
import { ignitionCertificate } from "./certificates.js";
import { ignitionTokens, lease, pools } from "./cluster.js";
import { running } from "./programs.js";

/** Objects by the last word of their collection's path, and Leases by name. */
function objects(
  byKind: Readonly<Record<string, readonly KubeObject[]>>,
  leases: Readonly<Record<string, object>> = {},
) {
  const api = {
    list: async (path: string) => ({ items: byKind[path.split("/").at(-1) ?? ""] ?? [] }),
    get: async (path: string) => {
      const found = leases[path.split("/").at(-1) ?? ""];
      if (found === undefined) throw new KubeApiError("no such Lease", { status: 404, reason: "NotFound" });
      return found;
    },
  };
  return { facts: { objects: () => api as unknown as KubeApi } };
}

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

async function port(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  closing.push(() => server.close());
  return (server.address() as AddressInfo).port;
}

describe("check ignition-certificate", () => {
  let pki: string;
  beforeAll(async () => {
    pki = mkdtempSync(join(tmpdir(), "drawbridge-doctor-"));
    await writePki(pki, await certificatesFor("bootstrap", { ipAddresses: ["127.0.0.1"] }));
    return () => rmSync(pki, { recursive: true, force: true });
  });
  const serve = () => {
    const pem = (name: string) => readFileSync(join(pki, name), "utf8");
    return port(createTls({ cert: pem("server.crt"), key: pem("server.key") }));
  };
  const publishing = (ignitionEndpoint: string) =>
    objects({
      configmaps: [
        {
          metadata: { name: "demo", namespace: "clusters", labels: { [CLUSTER_LABEL]: "true" } },
          data: { ignitionEndpoint },
        } as KubeObject,
      ],
    });
  const ask = (at: number, changes: Parameters<typeof context>[0]) =>
    messagesOf(
      ignitionCertificate,
      context(
        { role: "ignition", now: () => new Date(), ...changes },
        { ignition: ["drawbridge", `--addr=0.0.0.0:${at}`] },
      ),
    );

  test("the certificate must be for the address that the cluster publishes, and valid", async () => {
    const at = await serve();
    expect(await ask(at, publishing("127.0.0.1:22624"))).toEqual([
      "ok: the certificate is for the addresses that machines are given: 127.0.0.1",
    ]);
    const elsewhere =
      "failed: the Ignition server's certificate is not for ignition.example, so machines that are given that address retry for ever";
    expect(await ask(at, publishing("ignition.example:22624"))).toEqual([elsewhere]);
    expect(await ask(at, { address: "ignition.example" })).toEqual([elsewhere]);
    expect(await ask(at, objects({}))).toEqual(["skipped: no cluster in clusters publishes an Ignition server"]);
    const later = { address: "127.0.0.1", now: () => new Date(Date.now() + 400 * 24 * 3_600_000) };
    expect(await ask(at, later)).toEqual([expect.stringMatching(/^failed: the Ignition server's certificate expired/)]);
  });

  test("an Ignition server that does not serve yet fails", async () => {
    const at = await serve();
    for (const close of closing.splice(0)) close();
    expect(await ask(at, { address: "127.0.0.1" })).toEqual([
      `failed: the Ignition server runs but does not serve machines on 127.0.0.1:${at}`,
    ]);
  });
});

describe("check ignition-tokens", () => {
  const content = {
    ...{
      namespace: "clusters",
      pool: { namespace: "clusters", name: "workers" },
      hash: "abc",
      upgradeType: "Replace" as const,
    },
    ...{ token: "t-0123456789", releaseImage: "r", releaseVersion: "4.18.0", rawConfig: "{}", pullSecretHash: "" },
    ...{ trustBundleHash: "", configurationHash: "", stream: "" },
  } as const;
  const secret = makeTokenSecret(content, now);
  const having = (data: Readonly<Record<string, string>>): Secret => ({
    ...secret,
    data: { ...secret.data, ...Object.fromEntries(Object.entries(data).map(([key, text]) => [key, encoded(text)])) },
  });
  const ask = (...secrets: readonly Secret[]) =>
    messagesOf(ignitionTokens, context({ role: "ignition", ...objects({ secrets }) }));

  test("a token without a payload fails, and no token is ever shown", async () => {
    expect(await ask(having({ reason: "AsExpected" }))).toEqual(["ok: the payloads of 1 token Secrets are made"]);
    expect(await ask(secret)).toEqual([
      "failed: no Ignition server has made the payload of pool clusters/workers yet, so machines get 511",
    ]);
    const broken = having({ reason: "InvalidConfig", message: "the pull secret is missing" });
    expect(await ask(broken)).toEqual([
      "failed: no payload can be made for pool clusters/workers, so machines get 511: the pull secret is missing",
    ]);
    const findings = await findingsOf(ignitionTokens, context({ role: "ignition", ...objects({ secrets: [broken] }) }));
    expect(findings[0]?.remedy).toContain("drawbridge workers doctor --namespace clusters --pool workers");
    expect(JSON.stringify(findings)).not.toContain("t-0123456789");
    expect(await ask(having({ token: "" }))).toEqual([expect.stringMatching(/^failed: .*without a token/)]);
    expect(await ask()).toEqual(["failed: no pool has a token Secret in clusters, so every machine gets 511"]);
  });
});

describe("check lease", () => {
  const held = (seconds: number, holderIdentity = "host_1") => ({
    spec: { holderIdentity, leaseDurationSeconds: 15, renewTime: new Date(now - seconds * 1000).toISOString() },
  });
  const ask = (role: "nodepool" | "approver", leases: Readonly<Record<string, object>>) =>
    messagesOf(lease, context({ role, ...objects({}, leases) }));

  test("a Lease that ended, was released or never existed fails", async () => {
    expect(await ask("nodepool", { "drawbridge-nodepool-controller": held(5) })).toEqual([
      "ok: a pool controller holds the Lease",
    ]);
    expect(await ask("approver", { "drawbridge-csr-approver": held(60) })).toEqual([
      "failed: no CSR approver holds the Lease now, so nothing is decided",
    ]);
    expect(await ask("approver", { "drawbridge-csr-approver": held(1, "") })).toEqual([
      expect.stringMatching(/^failed/),
    ]);
    expect(await ask("approver", {})).toEqual([
      "failed: no CSR approver has ever held its Lease, so nothing is decided",
    ]);
    expect(await messagesOf(lease, context({ role: "approver" }))).toEqual([
      expect.stringMatching(/^failed: No kubeconfig is given and this process does not run in a pod/),
    ]);
    const dry = context(
      { role: "approver", ...objects({}) },
      { approver: ["drawbridge", "csr", "approver", "--dry-run"] },
    );
    expect(await messagesOf(lease, dry)).toEqual([expect.stringMatching(/^skipped: .*--dry-run/)]);
  });
});

test("pools without conditions fail, and False conditions are warnings that lead to workers doctor", async () => {
  const having = (status: string) => ({
    ...pool,
    status: { conditions: [{ type: "ValidConfig", status, reason: "Bad", message: "two units of one name" }] },
  });
  const given = (one: KubeObject) => context({ role: "nodepool", ...objects({ nodepools: [one] }) });
  expect(await messagesOf(pools, given(pool))).toEqual(["failed: no controller has handled pool clusters/workers"]);
  const [finding] = await findingsOf(pools, given(having("False")));
  expect(finding).toMatchObject({
    state: "warning",
    message: "pool clusters/workers: ValidConfig is False: two units of one name",
    remedy: "Ask drawbridge workers doctor --namespace clusters --pool workers for the cause.",
  });
  expect(await messagesOf(pools, given(having("True")))).toEqual(["ok: the conditions of 1 pools are in order"]);
});

test("health is skipped for a program without a health port", async () => {
  const answer = (status: number, text: string) =>
    port(createHttp((_request, response) => response.writeHead(status).end(text)) as Server);
  const words = (at: number) => ["drawbridge", "csr", "approver", `--health-port=${at}`];
  const ask = (approver?: readonly string[]) =>
    messagesOf(running, context({ role: "approver" }, approver ? { approver } : {}));
  expect(await ask(words(await answer(200, "ok")))).toEqual(["ok: the CSR approver is ready"]);
  expect(await ask(words(await answer(500, "the inventory cannot be read")))).toEqual([
    "failed: the CSR approver is not ready",
  ]);
  expect(await ask(["drawbridge", "csr", "approver"])).toEqual(["skipped: the CSR approver has no health port"]);
  expect(await ask()).toEqual(["warning: no CSR approver runs in this network"]);
});
