import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { HostFiles } from "../../../cluster/bootstrap/host/files.js";
import type { BridgeStatus, StatusLine } from "../../../cluster/bootstrap/host/status.js";
import { type BridgeCircumstances, bridgeInfo, injectedInfo, isUpAtWork } from "./bridge.js";

const line = (name: string, ok: boolean, detail = "so it is"): StatusLine => ({
  name,
  title: `Title ${name}`,
  ok,
  detail,
});

const status = (...lines: StatusLine[]): BridgeStatus => ({
  ...{ ok: false, for: "bare", address: "192.0.2.10", namespace: "x", madeAt: "2031-01-01T00:00:00.000Z" },
  ...{ until: "2031-01-01T02:00:00.000Z", lines, nodes: [{ node: "n1", isReady: true, isConnected: false }] },
});

const circumstances: BridgeCircumstances = { atWork: false, setting: { by: "hand" }, flag: "--flag=/file" };
const states = (info: ReturnType<typeof bridgeInfo>) => info.steps.map(({ name, state }) => `${name} ${state}`);

describe("the bridge's steps", () => {
  test("are those of bootstrap status, failed ones included while up does not run", () => {
    const info = bridgeInfo(status(line("server", true), line("port", false), line("ready", false)), circumstances);
    expect(states(info)).toEqual(["server done", "port failed", "ready failed"]);
    expect(info.steps[0]).toEqual({ name: "server", title: "Title server", state: "done", detail: "so it is" });
    expect(info.steps[1]?.remedy).toContain("drawbridge bootstrap up");
    expect(info).toMatchObject({
      ...{ for: "bare", address: "192.0.2.10", madeAt: Date.UTC(2031, 0), untilAt: Date.UTC(2031, 0, 1, 2) },
      nodes: [{ name: "n1", ready: true, connected: false }],
    });
  });

  test("run one after the other while up runs", () => {
    const lines = [line("a", true), line("b", false), line("c", false), line("d", true)];
    const info = bridgeInfo(status(...lines), { ...circumstances, atWork: true });
    expect(states(info)).toEqual(["a done", "b running", "c waiting", "d done"]);
    expect(info.steps.map(({ remedy }) => remedy)).toEqual([undefined, undefined, undefined, undefined]);
  });

  test("wait for a person where the kube-apiserver is theirs to change, with the flag to the letter", () => {
    const lines = status(line("kube-apiserver", false));
    const step = (setting: BridgeCircumstances["setting"]) => bridgeInfo(lines, { ...circumstances, setting }).steps[0];
    expect(step({ by: "hand" })).toMatchObject({ state: "waiting", remedy: expect.stringContaining("--flag=/file") });
    expect(step({ by: "manifest", manifest: "/m" })?.remedy).toContain("up --apply");
    const edit = { backup: "" };
    expect(step({ by: "manifest", manifest: "/m", edit })).toMatchObject({ state: "failed" });
    expect(step({ by: "command", apply: "x", restore: undefined })).toMatchObject({ state: "failed" });
  });

  test("are not called done when all that can be said is that nobody needs them yet", () => {
    const info = bridgeInfo(status({ ...line("ready", true), isEarly: true }), circumstances);
    expect(info.steps).toMatchObject([{ state: "waiting" }]);
    expect(info.steps[0]?.remedy).toBeUndefined();
  });

  test("are bounded in length", () => {
    const { steps } = bridgeInfo(status(line("a", false, "x".repeat(9_000))), circumstances);
    expect(steps[0]?.detail).toHaveLength(500);
  });
});

test.each([
  ["pending", ["cleanup running"], "has not succeeded in 31 attempts"],
  ["given-up", ["cleanup failed"], "gave up after 31 attempts"],
  ["removed", [], ""],
])("an injected bridge whose clean-up is %s is shown as %j", async (state, steps, words) => {
  const root = mkdtempSync(join(tmpdir(), "db-page-bridge-"));
  try {
    mkdirSync(join(root, "opt/openshift"), { recursive: true });
    const noted = { state, namespace: "n", attempts: 31, since: "2026-11-16T00:00:02Z", lastError: "no such host" };
    writeFileSync(join(root, "opt/openshift/konnectivity-cleanup.json"), JSON.stringify(noted));
    const info = await injectedInfo({ files: new HostFiles(root) });
    expect(states(info)).toEqual(steps);
    expect(info.steps[0]?.detail ?? "").toContain(words);
    if (words !== "") expect(info.steps[0]?.remedy).toContain("drawbridge bootstrap teardown --kubeconfig FILE");
  } finally {
    rmSync(root, { recursive: true });
  }
});

describe("whether bootstrap up runs", () => {
  const processes = (...argv: string[]) => [{ pid: 1, argv }];
  test.each([
    [["node", "drawbridge", "bootstrap", "up", "--state-dir=/a"], true],
    [["drawbridge", "bootstrap", "up", "--apply", "--state-dir", "/a"], true],
    [["drawbridge", "bootstrap", "up", "--state-dir=/b"], false],
    [["drawbridge", "bootstrap", "up"], false],
    [["drawbridge", "bootstrap", "status", "--state-dir=/a"], false],
    [["up", "bootstrap"], false],
  ])("%j: %s", (argv, expected) => expect(isUpAtWork(processes(...argv), "/a", "/default")).toBe(expected));

  test("takes up without a directory for that of the default", () => {
    expect(isUpAtWork(processes("drawbridge", "bootstrap", "up"), "/default", "/default")).toBe(true);
  });
});
