/** The bootstrap host of an install directory, by what a gather would bring. */
import { describe, expect, test } from "vitest";
import type { TarEntry } from "../../base/tar.js";
import { SshFailure } from "../../cluster/bootstrap/ssh/ssh.js";
import { checkRemoteHost, type GatheredHost } from "./verify.js";

const record = (...entries: object[]) => ["bootstrap/services/bootkube.json", JSON.stringify(entries)] as const;
const start = { timestamp: "2026-11-16T00:00:00Z", phase: "service start" };
const ended = (stage: string, result: string) => [
  { timestamp: "2026-11-16T00:00:01Z", phase: "stage start", stage },
  { timestamp: "2026-11-16T00:00:02Z", phase: "stage end", stage, result },
];

function host(...files: (readonly [path: string, text: string])[]): GatheredHost {
  return {
    name: "192.0.2.50",
    async *files(): AsyncGenerator<TarEntry> {
      for (const [path, text] of files) {
        const content = Buffer.from(text);
        yield {
          ...{ path, size: content.length, modifiedAt: new Date() },
          async *content() {
            yield content;
          },
        };
      }
    },
  };
}
const asked = async (host: GatheredHost | undefined) => (await checkRemoteHost(host, new AbortController().signal))[0]!;

describe("the bootstrap host, checked from a workstation", () => {
  test("is ok when nothing is wrong, with the stage that it is in", async () => {
    const began = { timestamp: "2026-11-16T00:00:03Z", phase: "stage start", stage: "cb-bootstrap" };
    const result = await asked(host(record(start, ...ended("konnectivity-certs", "success"), began)));
    expect(result).toMatchObject({ check: "host", state: "ok" });
    expect(result.message).toMatch(/^nothing is wrong on 192\.0\.2\.50; bootkube was in stage cb-bootstrap/);
  });

  test("fails with the failed stage and its remedy", async () => {
    const result = await asked(host(record(start, ...ended("konnectivity-server-bootstrap", "failure"))));
    expect(result).toMatchObject({ state: "failed", remedy: expect.stringContaining("inject --image") });
    expect(result).toMatchObject({ check: "stage-failed", subject: "192.0.2.50" });
    expect(result.message).toMatch(/failed at stage konnectivity-server-bootstrap/);
  });

  test("is skipped when the bridge was taken down", async () => {
    const result = await asked(host(record(start, ...ended("konnectivity-cleanup", "success"))));
    expect(result).toMatchObject({ state: "skipped", message: expect.stringContaining("has taken the bridge down") });
  });

  test("fails when bootkube ended and the clean-up of the bridge did not: its objects are in the cluster", async () => {
    const state = { version: 1, state: "pending", namespace: "ns", since: "2026-11-16T00:00:02Z", attempts: 31 };
    const file = "rendered-assets/openshift/konnectivity-cleanup.json";
    const service = { timestamp: "2026-11-16T00:00:09Z", phase: "service end", result: "success" };
    const result = await asked(
      host(record(start, ...ended("konnectivity-cleanup", "failure"), service), [
        file,
        JSON.stringify({ ...state, until: "", lastAttemptAt: "", lastError: "lookup api-int: no such host" }),
      ]),
    );
    expect(result).toMatchObject({ state: "failed", check: "cleanup-failed", subject: "192.0.2.50" });
    expect(result.message).toMatch(/31 attempts .*lookup api-int: no such host/);
    expect(result.remedy).toContain("drawbridge bootstrap teardown");
  });

  test("is skipped when it is unknown or unreachable, and fails when SSH refuses us", async () => {
    const failing = (reason: Error): GatheredHost => ({
      name: "x",
      // biome-ignore lint/correctness/useYield: it throws before
      async *files() {
        throw reason;
      },
    });
    expect(await asked(undefined)).toMatchObject({ state: "skipped" });
    const away = await asked(failing(new SshFailure("x cannot be used over SSH: it does not answer.", true)));
    expect(away).toMatchObject({ state: "skipped", remedy: expect.stringContaining("SSH port") });
    const closed = await asked(failing(new SshFailure("x cannot be used over SSH: no key.", false)));
    expect(closed).toMatchObject({ state: "failed", remedy: expect.stringContaining("--key") });
  });
});
