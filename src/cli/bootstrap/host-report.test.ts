/** What `up` and `status` print for people. */
import { afterEach, expect, test } from "vitest";
import { TestBridge } from "../../cluster/bootstrap/host/testing/bridge.js";
import { statusText } from "./status.js";
import { progressOn, upText } from "./up.js";

let bridge: TestBridge | undefined;
afterEach(() => bridge?.close());

test("progress says each step as it ends, and at once what is left to a person", () => {
  const parts: string[] = [];
  const progress = progressOn((part) => parts.push(part));
  const step = {
    name: "server",
    title: "Server",
    makes: async () => [],
    check: undefined as never,
    do: undefined as never,
  };
  progress.starts(step);
  progress.ends({ name: "server", title: "Server", outcome: "done", detail: "process 7 is healthy", tookMs: 1234 });
  progress.ends({ name: "x", title: "X", outcome: "left to you", detail: "not yet", tookMs: 1, byHand: "Do it." });
  expect(parts.join("")).toBe(
    "Server ...\nServer: done, 1.2 s (process 7 is healthy)\nX: left to you (not yet)\n\nDo it.\n\n",
  );
});

test("up ends with a table, what is left to do, the end of the bridge and what comes next", async () => {
  bridge = await TestBridge.prepare("kubeadm");
  const waiting = upText(await bridge.up());
  expect(waiting).toMatch(/^STEP +STATE +DETAIL\ndirectories +done +\/run\/drawbridge-bootstrap, /);
  expect(waiting).toMatch(/\nkube-apiserver +left to you +the kube-apiserver here runs without the flag\n/);
  expect(waiting).toContain("Still to do by you: start the kube-apiserver with --egress-selector-config-file=");
  const report = upText(await bridge.up({ apply: true }));
  expect(report).toContain("The bridge is up.\nIt ends 2031-01-01T02:00:00.000Z.");
  expect(report).toMatch(/ All of it took \d+\.\d s\.\n/);
  expect(report).toContain("drawbridge bootstrap teardown takes it away");
});

test("status shows steps and nodes, and says when something is wrong", async () => {
  bridge = await TestBridge.prepare("kubeadm");
  await bridge.up({ apply: true });
  const text = statusText(await bridge.status());
  expect(text).toMatch(
    /^Bridge for kubeadm, agents dial 192\.0\.2\.10, ends 2031-01-01T02:00:00\.000Z\n\nSTEP +STATE +DETAIL\n/,
  );
  expect(text).toMatch(/\nsocket +WRONG +\/run\/drawbridge-bootstrap\/konnectivity-server\.socket is not there\n/);
  expect(text).toMatch(/\nNODE +STATE +AGENT\nn1 +ready +connected\nn2 +ready +connected\n/);
  expect(text).toContain("drawbridge bootstrap up repairs what it can");
});
