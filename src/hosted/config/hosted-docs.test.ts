/** docs/hosted.md says what is so. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { declareHostedFlags } from "../../cli/hosted-flags.js";
import { checkConfig } from "./check-config.js";

const text = readFileSync(new URL("../../../docs/hosted.md", import.meta.url), "utf8");

test("its description is one that can be used", () => {
  const [, yaml = ""] = /```yaml\n([\s\S]*?)```/.exec(text) ?? [];
  expect(checkConfig(parse(yaml), "docs/hosted.md")).toMatchObject({ name: "demo", replicas: 3 });
});

test("every field that a description can have is in its table, and no other", () => {
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

test("every flag it names exists", () => {
  const { set } = declareHostedFlags("test", {});
  const own = [
    "side",
    "output",
    "out",
    "show-secrets",
    "pki",
    "hosted-kubeconfig",
    "force-conflicts",
    "rotate-signers",
  ];
  const others = [
    "patch-kube-apiserver",
    "wait",
    "egress-selector-config-file",
    "type",
    "no-proxy",
    "prefer-ipv4",
    "enable-aggregator-routing",
    "kubelet-preferred-address-types",
  ];
  const flags = new Set([...set.flags.map(({ name }) => name), ...own, ...others]);
  for (const [, name] of text.matchAll(/--([a-z][a-z0-9-]+)/g)) expect(flags).toContain(name);
});
