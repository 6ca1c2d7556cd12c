import { beforeAll, expect, test } from "vitest";
import { requireConfig } from "../parse.js";
import { makePayload, type Payload, SECRETS } from "../testing/payload.js";
import { preview, showPreview } from "./preview.js";

const day = 24 * 60 * 60_000;
const made = new Date("2026-01-01T00:00:00Z");
let payload: Payload;
beforeAll(async () => {
  payload = await makePayload(made);
});

const shown = (daysLater: number) =>
  showPreview(preview(requireConfig(payload.text(), "x")), new Date(made.getTime() + daysLater * day));

test("preview shows files, units, users and what is fetched", () => {
  const text = shown(10);
  for (const line of [
    "merge https://[hidden]@ign.example/ignition?... with Authorization: (hidden), NodePool: clusters/workers",
    "httpProxy http://[hidden]@proxy.example:3128",
    "certificate CN=payload-test, ends in 80 d (2026-04-01)",
    "kubernetes/           0700  core:root",
    "kubeconfig        0600  root:root  39 B  (kubeconfig, hidden)",
    "config.json   0600  root:root  43 B  (pull secret, hidden)",
    "(private key, hidden)",
    "motd                  0644  root:root  12 B",
    "issue                 -> /etc/motd",
    "from https://[hidden]@files.example/tool",
    "kubelet.service  enabled  85 B  drop-ins: 10-a.conf",
    "other.service    masked",
    "core: 1 ssh keys; password set (hidden)",
  ])
    expect(text).toContain(line);
});

test("preview says when a certificate has ended", () => {
  expect(shown(95)).toContain("certificate CN=payload-test, EXPIRED 5 d ago (2026-04-01)");
});

test("preview hides every secret, in text and in JSON", () => {
  const json = JSON.stringify(preview(requireConfig(payload.text(), "x")));
  for (const secret of [...SECRETS, payload.keyLine]) {
    expect(shown(1)).not.toContain(secret);
    expect(json).not.toContain(secret);
  }
});

test("content that cannot be unpacked is named, not fatal; names cannot steer a terminal", () => {
  const text = JSON.stringify({
    ignition: { version: "3.2.0" },
    storage: { files: [{ path: "/a\u001b[2Jb", contents: { source: "data:,x", compression: "gzip" } }] },
  });
  const tree = showPreview(preview(requireConfig(text, "x")), made);
  expect(tree).toContain("a?[2Jb");
  expect(tree).toMatch(/UNREADABLE: the content of .* is broken gzip/);
  expect(tree).not.toContain("\u001b");
});
