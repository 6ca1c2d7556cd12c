import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { startTime } from "../testing/pools.js";
import { clusterState, signingRequest } from "../testing/requests.js";
import { decide, decisionEntry, openDecisionLog } from "./decide.js";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "db-decisions-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function entry() {
  const request = await signingRequest("client");
  const decision = await decide(request, clusterState("client"));
  return decisionEntry(decision!, request, startTime, "leader");
}

describe("the decision log", () => {
  test("gets one line for each decision, is readable by its owner only, and is continued", async () => {
    const path = join(folder, "decisions.jsonl");
    for (let round = 0; round < 2; round++) {
      const log = openDecisionLog(path);
      await Promise.all(Array.from({ length: 20 }, async () => log.write(await entry())));
      log.close();
    }
    const lines = readFileSync(path, "utf8").trimEnd().split("\n");
    expect(lines).toHaveLength(40);
    expect(new Set(lines).size).toBe(1);
    expect(JSON.parse(lines[0]!)).toEqual({
      at: "2031-01-01T00:00:00.000Z",
      by: "leader",
      action: "approve",
      rule: "all",
      explanation: "w0 of clusters/workers is expected and asks for its first certificate",
      request: "csr-client",
      uid: "uid-csr-client",
      signer: "kubernetes.io/kube-apiserver-client-kubelet",
      user: "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper",
      node: "w0",
      pool: "clusters/workers",
    });
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test("says when it cannot be written", async () => {
    const failure = expect.objectContaining({ code: "DB_CSR_LOG" });
    expect(() => openDecisionLog(join(folder, "no", "such", "place"))).toThrow(failure);
    const log = openDecisionLog("/dev/full");
    const line = await entry();
    expect(() => log.write(line)).toThrow(failure);
    log.close();
  });
});
