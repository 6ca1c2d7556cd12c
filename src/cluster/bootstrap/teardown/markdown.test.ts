import { afterEach, expect, test } from "vitest";
import { TestBridge } from "../host/testing/bridge.js";
import { receiptMarkdown } from "./receipt.js";

let bridge: TestBridge;
afterEach(() => bridge.close());

test("the Markdown receipt says what was opened, what became of it and who must still act", async () => {
  bridge = await TestBridge.prepare("kubeadm");
  await bridge.up({ apply: true });
  const text = receiptMarkdown(await bridge.teardown());
  expect(text).toMatch(/^# Receipt of a bridge\n\n\*\*Clean\.\*\*/);
  expect(text).toContain("| Agents dialled | 192.0.2.10, TCP 8091 |");
  expect(text).toContain("| `Namespace drawbridge-bootstrap` | 2031-01-01T00:00:00.000Z | removed |  |");
  expect(text).toMatch(
    /\| `kube-apiserver --egress-selector-config-file=\S+` \| \S+ \| restored \| the kube-apiserver is ready without it \|/,
  );
  expect(text).toContain("## What somebody else must still remove");
  // The nodes' own addresses, as the cluster knows them.
  expect(text).toContain("192.0.2.11/32");
  expect(text).toMatch(/\d+ more places were looked at, and nothing was there\./);
  expect(text).not.toContain("## Warnings");
});

test("the Markdown receipt says what is left, and why it stopped", async () => {
  bridge = await TestBridge.prepare("bare");
  await bridge.up({ for: "bare", kubeconfig: "/admin.conf", serverForm: "process" });
  bridge.cluster.put("/api/v1/namespaces/x/secrets/y", {
    metadata: { labels: { "openshift.io/bootstrap-only": "true" } },
  });
  const left = receiptMarkdown(await bridge.teardown());
  expect(left).toMatch(/\*\*Not clean\.\*\* 1 of \d+ things are left/);
  expect(left).toContain("| `Secret x/y` |  | **left** | it carries the bridge's label and nobody removes it |");
  bridge.cluster.objects.delete("/api/v1/namespaces/x/secrets/y");
  bridge.restartApiServer("--egress-selector-config-file=/etc/drawbridge-bootstrap/egress-selector-config.yaml");
  const stopped = receiptMarkdown(await bridge.teardown());
  expect(stopped).toContain("**Stopped.** The kube-apiserver still uses the bridge");
  expect(stopped).toContain("## Warnings");
});

test("the Markdown receipt says that nothing was there", async () => {
  bridge = await TestBridge.prepare("bare");
  const text = receiptMarkdown(await bridge.teardown({ kubeconfig: "/admin.conf" }));
  expect(text).toContain("Nothing of a bridge was there. Nothing was changed.");
  expect(text).not.toContain("## What was opened");
});
