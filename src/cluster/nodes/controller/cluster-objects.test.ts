import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { KubeApi, KubeObject } from "../../kube/port.js";
import { REQUESTS_PATH, requestPath, type SigningRequest } from "../csr/signing-request.js";
import { createDirectoryApi } from "./directory.js";

let directory: string;
let api: KubeApi;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "db-directory-"));
  api = createDirectoryApi({ directory });
});
afterEach(() => rmSync(directory, { recursive: true }));

const request = (name: string): SigningRequest => ({
  apiVersion: "certificates.k8s.io/v1",
  kind: "CertificateSigningRequest",
  metadata: { name },
  spec: { request: "eA==" },
});

describe("objects without a namespace in a directory", () => {
  test("are kept under their name alone", async () => {
    await api.create(REQUESTS_PATH, request("csr-1"));
    expect(readdirSync(directory)).toContain("certificatesigningrequest_csr-1.yaml");
    const { items } = await api.list<SigningRequest>(REQUESTS_PATH);
    expect(items.map(({ metadata }) => [metadata?.name, metadata?.namespace])).toEqual([["csr-1", undefined]]);
    await api.delete(requestPath("csr-1"));
    expect((await api.list(REQUESTS_PATH)).items).toEqual([]);
  });

  test("are found in a file that a person wrote", async () => {
    writeFileSync(join(directory, "n.yaml"), "apiVersion: v1\nkind: Node\nmetadata: {name: worker-0}\n");
    expect((await api.get("/api/v1/nodes/worker-0")).metadata?.name).toBe("worker-0");
  });

  test("are approved through a path of its own, which changes nothing else", async () => {
    const made = await api.create(REQUESTS_PATH, request("csr-1"));
    const approved = { status: { conditions: [{ type: "Approved", status: "True" }] } };
    await api.update(`${requestPath("csr-1")}/approval`, { ...made, ...approved, spec: {} } as SigningRequest);
    const now = await api.get<SigningRequest>(requestPath("csr-1"));
    expect([now.spec?.request, now.status?.conditions?.[0]?.type]).toEqual(["eA==", "Approved"]);
    await expect(api.update(`${requestPath("csr-1")}/approval`, made)).rejects.toThrow("was changed meanwhile");
    const plain = await api.update(requestPath("csr-1"), { ...now, status: {} } as SigningRequest);
    expect(plain.status).toEqual(now.status);
  });

  test("have names that can be files", async () => {
    await expect(api.create(REQUESTS_PATH, request("Upper"))).rejects.toThrow("cannot be a name");
    await expect(api.get<KubeObject>("/api/v1/pods/x")).rejects.toThrow("a directory has no");
  });
});
