import { spawnSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { firewallRule } from "../model/created.js";
import { bridgeModel } from "../model/model.js";
import { firewallPlan, showPlan } from "./make-plan.js";
import { type FirewallPlan, type PlanInput, platforms } from "./plan.js";

const rule = firewallRule(bridgeModel({ for: "openshift" }));
const base = {
  rule,
  upi: false,
  byoNetwork: false,
  infraId: "lab-x7k2p",
  machineNetworks: ["10.0.0.0/16", "fd00:1::/48"],
};
const plan = (input: Pick<PlanInput, "platform"> & Partial<PlanInput>): FirewallPlan =>
  firewallPlan({ ...base, ...input });

const everyPlan: [string, FirewallPlan][] = platforms.flatMap((platform) =>
  [
    { upi: false, byoNetwork: false },
    { upi: true, byoNetwork: false },
    { upi: false, byoNetwork: true },
  ].map((how): [string, FirewallPlan] => [
    `${platform}${how.upi ? " --upi" : ""}${how.byoNetwork ? " --byo-network" : ""}`,
    plan({ platform, ...how }),
  ]),
);

const shellSteps = ({ open, remove }: FirewallPlan) =>
  [...open, ...remove].filter(({ language }) => language === "shell");

describe.each(everyPlan)("the plan for %s", (_, found) => {
  test("says who opens and who removes, from where, and how to do both by hand", () => {
    for (const part of [found.opened, found.removed, found.open, found.remove, found.sources])
      expect(part).not.toEqual([]);
    expect(found.open.some(({ text }) => text.includes("8091"))).toBe(true);
    expect(found.rule).toEqual(rule);
  });

  test("has commands that bash accepts", () => {
    for (const { text } of shellSteps(found)) {
      const checked = spawnSync("bash", ["-n"], { input: text, encoding: "utf8" });
      expect(checked.stderr + text).toBe(text);
    }
  });

  test("has template parts that parse", () => {
    for (const { language, text } of [...found.open, ...found.remove]) {
      if (language === "json") expect(JSON.parse(text)).toMatchObject({ properties: { destinationPortRange: "8091" } });
      if (language !== "yaml") continue;
      const problems = [...parseAllDocuments(text, { logLevel: "error" })].flatMap((document) => document.errors);
      expect(problems).toEqual([]);
    }
  });

  test("prints as text without a hole", () => {
    const text = showPlan(found);
    expect(text).not.toMatch(/undefined|\bnull,|\[object|NaN/);
    expect(text).toContain("TCP 8091 to the bootstrap host");
  });
});

test("shellcheck has nothing against any command", ({ skip }) => {
  if (spawnSync("shellcheck", ["--version"]).status !== 0)
    return skip("shellcheck is missing: run .ci/install-packages.");
  const scripts = everyPlan.flatMap(([, found]) => shellSteps(found).map(({ text }) => text));
  const all = [...new Set(scripts)].map((text, index) => `step_${index}() {\n${text}\n}`).join("\n");
  const calls = [...new Set(scripts)].map((_, index) => `step_${index}`).join("\n");
  // SC2016: queries in JMESPath have backticks.
  const checked = spawnSync("shellcheck", ["--shell=bash", "--exclude=SC2016", "-"], {
    input: `${all}\n${calls}\n`,
    encoding: "utf8",
  });
  expect(checked.stdout).toBe("");
});

describe("the plan names what installers forget", () => {
  test.each<[Partial<PlanInput> & Pick<PlanInput, "platform">, RegExp]>([
    [{ platform: "azure" }, /konnectivity_in.*looks for another name than it created/],
    [{ platform: "powervs" }, /open to anywhere for the life of the cluster/],
    [{ platform: "aws" }, /any other description/],
    [{ platform: "openstack" }, /lab-x7k2p-master/],
    [{ platform: "vsphere" }, /nobody but you/],
  ])("%j", (input, what) => expect(plan(input).forgotten.join(" ")).toMatch(what));

  test("a rule that goes with its own stack or group leaves nothing", () => {
    expect(plan({ platform: "aws", upi: true }).forgotten).toEqual([]);
    expect(plan({ platform: "ibmcloud" }).forgotten).toEqual([]);
  });

  test("GCP's removal cannot be repeated, and the plan says what to do", () => {
    expect(plan({ platform: "gcp" }).notes.join(" ")).toMatch(/not repeatable.*create it again first/);
  });

  test("Azure's removal goes by port, because the names differ", () => {
    expect(plan({ platform: "azure" }).remove[0]?.text).toContain("destinationPortRange=='8091'");
  });
});

test("names of the installer's objects carry the infrastructure ID, or a placeholder that is explained", () => {
  expect(plan({ platform: "gcp" }).open[0]?.text).toContain("lab-x7k2p-bootstrap-in-konnectivity");
  const open = plan({ platform: "gcp", infraId: undefined });
  expect(open.open[0]?.text).toContain("INFRA_ID-bootstrap-in-konnectivity");
  expect(open.notes.join(" ")).toContain("INFRA_ID is a placeholder for");
});

test.each<[Partial<PlanInput> & Pick<PlanInput, "platform">, string]>([
  [{ platform: "aws", infraId: "a; rm -rf /" }, "is not lower-case letters, digits and dashes"],
  [{ platform: "host", machineNetworks: ["10.0.0.0/16 $(id)"] }, "is not a prefix"],
  [{ platform: "host", machineNetworks: [] }, "--platform host needs --machine-network"],
  [{ platform: "openstack", machineNetworks: [] }, "--platform openstack needs --machine-network"],
  [{ platform: "azure", byoNetwork: true, machineNetworks: [] }, "--platform azure needs --machine-network"],
])("%j is refused", (input, message) => {
  expect(() => plan(input)).toThrow(message);
});

test("prefixes are written as networks, each family by its own program", () => {
  const text = plan({ platform: "host", machineNetworks: ["10.0.7.9/16", "fd00:1::7/48"] })
    .open.map((step) => step.text)
    .join("\n");
  expect(text).toContain("ip saddr { 10.0.0.0/16 }");
  expect(text).toMatch(/ip6tables .* -s fd00:1::\/48 /);
  expect(text).not.toContain("10.0.7.9");
});
