/** docs/hosted.md says what is so. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { hostedFlags } from "../../../cli/hosted/shared.js";
import { createAuthority } from "../../../tunnel/pki/issue.js";
import { checkConfig } from "./config.js";

const text = readFileSync(new URL("../../../../docs/hosted.md", import.meta.url), "utf8");

const examples = [...text.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, yaml]) => parse(yaml!) as object);

test("the descriptions in docs/hosted.md can be used", async () => {
  const directory = mkdtempSync(join(tmpdir(), "drawbridge-hosted-docs-"));
  try {
    const { certificatePem } = await createAuthority({ commonName: "root", validForMs: 60_000 });
    writeFileSync(join(directory, "root-ca.crt"), certificatePem);
    const [first, second, ...others] = examples;
    expect(checkConfig(first, "docs/hosted.md")).toMatchObject({ name: "demo", replicas: 3 });
    const { aggregatedApis } = checkConfig({ ...first, ...second }, "docs/hosted.md", directory);
    expect(aggregatedApis.map(({ registration }) => registration?.served.length)).toEqual([9, 1, undefined]);
    expect(others).toEqual([]);
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test("the table in docs/hosted.md has every field of a description, and no other", () => {
  const rows = text.split("## The description")[1]!.split("\n## ")[0]!.split("\n");
  const documented = rows
    .map((row) => /^\| (`.+?) \|/.exec(row)?.[1] ?? "")
    .flatMap((cell) => [...cell.matchAll(/`(\.?\w+)(?:\.\w+)?`/g)].map(([, name]) => name!))
    .filter((name) => !name.startsWith("."));
  let known = "";
  try {
    checkConfig({ unknown: 1, name: "a", publishing: { type: "Route" } }, "the test");
  } catch (reason) {
    known = /known here: ([^)]*)/.exec((reason as Error).message)?.[1] ?? "";
  }
  expect([...new Set(documented)].toSorted()).toEqual(known.split(", ").toSorted());
});

test("every flag that docs/hosted.md names exists", () => {
  const own = [
    "side",
    "output",
    "out",
    "show-secrets",
    "pki",
    "hosted-kubeconfig",
    "force",
    "force-conflicts",
    "rotate-signers",
  ];
  const others = [
    "patch-kube-apiserver",
    "wait",
    "egress-selector-config-file",
    "type",
    "patch-file",
    "sync-forever",
    "wait-for-agent",
    "readiness",
    "shutdown-delay-duration",
    "ready-with",
    "from-file",
    "no-proxy",
    "prefer-ipv4",
    "enable-aggregator-routing",
    "kubelet-preferred-address-types",
    "project",
    "reporter",
    // Of the demo.
    "hosted",
  ];
  const flags = new Set([...Object.keys(hostedFlags), ...own, ...others]);
  for (const [, name] of text.matchAll(/--([a-z][a-z0-9-]+)/g)) expect(flags).toContain(name);
});
