import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parse, stringify } from "yaml";
import type { FirewallRule } from "../../model/created.js";
import type { Platform } from "../plan.js";
import { awsCluster, azureCluster, INFRA, ibmVpcCluster, powerVsCluster } from "../testing/manifests.js";
import { patchManifest } from "./patch.js";

const rule: FirewallRule = {
  proto: "tcp",
  port: 8091,
  from: ["control-plane", "workers"],
  to: "bootstrap",
  lifetime: "bootstrap",
};
let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "db-firewall-"));
  mkdirSync(join(dir, "cluster-api", "machines"), { recursive: true });
});
afterEach(() => rmSync(dir, { recursive: true }));

const path = (name: string) => join(dir, "cluster-api", name);
const put = (name: string, text: string) => writeFileSync(path(name), text);
const read = (name: string) => readFileSync(path(name), "utf8");
const open = (platform: Platform) => patchManifest({ dir, platform, rule, direction: "open" });
const close = (platform: Platform) => patchManifest({ dir, platform, rule, direction: "close" });

const kinds: [Platform, string, string][] = [
  ["aws", "02_infra-cluster.yaml", awsCluster()],
  ["azure", "02_azure-cluster.yaml", azureCluster()],
  ["azurestack", "02_azure-cluster.yaml", azureCluster()],
  ["ibmcloud", "01_ibmcloud-cluster.yaml", ibmVpcCluster()],
  ["powervs", "02_powervs-cluster.yaml", powerVsCluster()],
];

describe.each(kinds)("the %s manifest %s", (platform, name, original) => {
  beforeEach(() => put(name, original));

  test("gets the rule by lines that are only added, once, and is itself again after remove", async () => {
    expect(await open(platform)).toMatchObject({ file: path(name), cluster: INFRA, changed: true });
    const patched = read(name);
    expect(linesOnlyIn(original, patched)).toEqual([]);
    expect(patched).toContain("8091");
    expect(await open(platform)).toMatchObject({
      changed: false,
      changes: [],
      notes: [expect.stringContaining("already has")],
    });
    expect(read(name)).toBe(patched);
    expect(await close(platform)).toMatchObject({ changed: true });
    expect(read(name)).toBe(original);
    expect(await close(platform)).toMatchObject({ changed: false, changes: [], notes: [] });
    expect(read(name)).toBe(original);
  });

  test("loses the rule again after a YAML tool has rewritten it without comments, and nothing else", async () => {
    await open(platform);
    put(name, stringify(parse(read(name)), { aliasDuplicateObjects: false }));
    expect(read(name)).not.toContain("#");
    expect(await close(platform)).toMatchObject({ changed: true, notes: [] });
    expect(parse(read(name))).toEqual(parse(original));
    expect(await close(platform)).toMatchObject({ changed: false, notes: [] });
  });

  test("keeps comments, order and mode", async () => {
    const everyLine = original.replaceAll(/^( *)(\w+):/gm, "\n$1#   about $2\n$1$2:   ");
    const commented = `# kept at the top\n${everyLine}\n\n# kept at the end\n`;
    put(name, commented);
    chmodSync(path(name), 0o640);
    await open(platform);
    expect(linesOnlyIn(commented, read(name))).toEqual([]);
    expect(statSync(path(name)).mode & 0o777).toBe(0o640);
    expect(readdirSync(join(dir, "cluster-api")).sort()).toEqual([name, "machines"].sort());
    await close(platform);
    expect(read(name)).toBe(commented);
  });

  test("of an unknown version is refused and left alone", async () => {
    const later = original.replace(/\/v1beta\d/, "/v9");
    put(name, later);
    await expect(open(platform)).rejects.toMatchObject({
      code: "DB_FIREWALL_MANIFEST",
      message: expect.stringContaining("its apiVersion infrastructure.cluster.x-k8s.io/v9 is not one of"),
    });
    expect(read(name)).toBe(later);
  });
});

describe("the manifest of AWS", () => {
  test("the rule names both roles and carries the text that every installer removes by", async () => {
    put("02_infra-cluster.yaml", awsCluster());
    await open("aws");
    const { spec } = parse(read("02_infra-cluster.yaml"));
    expect(spec.network.additionalControlPlaneIngressRules.at(-1)).toEqual({
      description: "Bootstrap SSH Access",
      fromPort: 8091,
      protocol: "tcp",
      sourceSecurityGroupRoles: ["controlplane", "node"],
      toPort: 8091,
    });
  });

  test("the installer's own rule is enough, and is not ours to remove", async () => {
    const own = awsCluster({ konnectivity: true });
    put("02_infra-cluster.yaml", own);
    expect((await open("aws")).notes).toEqual([
      expect.stringContaining('already has the rule "Bootstrap Konnectivity"'),
    ]);
    expect(await close("aws")).toMatchObject({
      changed: false,
      notes: [expect.stringContaining("not ours and stays")],
    });
    expect(read("02_infra-cluster.yaml")).toBe(own);
  });

  test("a rule that lets only one role in is not enough", async () => {
    put(
      "02_infra-cluster.yaml",
      awsCluster({ konnectivity: true }).replace(
        "  - controlplane\n      - node\n      toPort: 8091",
        "  - node\n      toPort: 8091",
      ),
    );
    expect((await open("aws")).changed).toBe(true);
  });

  test("a manifest without additional rules gets the list, and loses it again", async () => {
    const bare = awsCluster({ rules: "none" });
    put("02_infra-cluster.yaml", bare);
    await open("aws");
    expect(parse(read("02_infra-cluster.yaml")).spec.network.additionalControlPlaneIngressRules).toHaveLength(1);
    await close("aws");
    expect(read("02_infra-cluster.yaml")).toBe(bare);
  });

  test("a manifest without a network is refused", async () => {
    put(
      "02_infra-cluster.yaml",
      "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: AWSCluster\nmetadata:\n  name: a\nspec: {}\n",
    );
    await expect(open("aws")).rejects.toThrow("cannot be changed: it has no spec.network.");
  });
});

describe("the manifest of Azure", () => {
  const rulesIn = (name: string): { name: string; priority: number; source: string }[][] =>
    parse(read(name)).spec.networkSpec.subnets.map(
      (subnet: { securityGroup: { securityRules: object[] } }) => subnet.securityGroup.securityRules,
    );

  test("every subnet that shares the group gets the same rule, under the name the installer removes by", async () => {
    put("02_azure-cluster.yaml", azureCluster());
    await open("azure");
    for (const rules of rulesIn("02_azure-cluster.yaml")) {
      expect(rules.at(-1)).toMatchObject({ name: `${INFRA}_konnectivity_in`, priority: 230, source: "VirtualNetwork" });
    }
  });

  test("the priority is one that nobody has", async () => {
    put("02_azure-cluster.yaml", azureCluster({ taken: [230, 240] }));
    await open("azure");
    expect(rulesIn("02_azure-cluster.yaml").map((rules) => rules.at(-1)?.priority)).toEqual([250, 250]);
  });

  test("the installer's own rule is enough; that it stays behind is said", async () => {
    const own = azureCluster({ konnectivity: true });
    put("02_azure-cluster.yaml", own);
    expect((await open("azure")).notes).toEqual([expect.stringContaining("The installer will not take it away")]);
    expect((await close("azure")).notes).toEqual(["The rule konnectivity_in for port 8091 is not ours and stays."]);
    expect(read("02_azure-cluster.yaml")).toBe(own);
  });

  test("a virtual network of the user's own is refused with what to do instead", async () => {
    put("02_azure-cluster.yaml", azureCluster({ ownNetwork: true }));
    await expect(open("azure")).rejects.toThrow("see drawbridge firewall plan --byo-network");
  });

  test("a manifest without a control-plane security group is refused", async () => {
    put("02_azure-cluster.yaml", azureCluster().replaceAll("role: control-plane", "role: node"));
    await expect(open("azure")).rejects.toThrow("no control-plane subnet with a securityGroup");
  });
});

describe("the manifest of IBM Cloud", () => {
  test("only the bootstrap group is opened, for the cluster-wide group", async () => {
    put("01_ibmcloud-cluster.yaml", ibmVpcCluster());
    await open("ibmcloud");
    const [wide, bootstrap] = parse(read("01_ibmcloud-cluster.yaml")).spec.network.securityGroups;
    expect(wide.rules).toHaveLength(1);
    expect(bootstrap.rules[1].source).toEqual({
      portRange: { maximumPort: 8091, minimumPort: 8091 },
      protocol: "tcp",
      remotes: [{ remoteType: "sg", securityGroupName: `${INFRA}-sg-cluster-wide` }],
    });
  });

  test("the installer's own rule has no name, and stays", async () => {
    const own = ibmVpcCluster({ konnectivity: true });
    put("01_ibmcloud-cluster.yaml", own);
    expect((await open("ibmcloud")).changed).toBe(false);
    expect(await close("ibmcloud")).toMatchObject({ changed: false, notes: [expect.stringContaining("not ours")] });
    expect(read("01_ibmcloud-cluster.yaml")).toBe(own);
  });

  test("two rules that are alike are left alone, with a sentence: which one is ours is not known", async () => {
    put("01_ibmcloud-cluster.yaml", ibmVpcCluster());
    await open("ibmcloud");
    const twice = parse(read("01_ibmcloud-cluster.yaml"));
    const { rules } = twice.spec.network.securityGroups[1];
    rules.push(rules[1]);
    put("01_ibmcloud-cluster.yaml", stringify(twice, { aliasDuplicateObjects: false }));
    const before = read("01_ibmcloud-cluster.yaml");
    await expect(close("ibmcloud")).rejects.toMatchObject({
      code: "DB_FIREWALL_MANIFEST",
      message: expect.stringMatching(/has 2 rules that are exactly .* for TCP 8091, .* take it out by hand/),
    });
    expect(read("01_ibmcloud-cluster.yaml")).toBe(before);
  });

  test("a rule that somebody has widened since is left alone, with a sentence", async () => {
    put("01_ibmcloud-cluster.yaml", ibmVpcCluster());
    await open("ibmcloud");
    const widened = stringify(parse(read("01_ibmcloud-cluster.yaml"))).replace(
      "maximumPort: 8091",
      "maximumPort: 8099",
    );
    put("01_ibmcloud-cluster.yaml", widened);
    await expect(close("ibmcloud")).rejects.toThrow(/has no rule that is exactly the one that patch added/);
    expect(read("01_ibmcloud-cluster.yaml")).toBe(widened);
  });

  test("a manifest without the bootstrap group is refused", async () => {
    put("01_ibmcloud-cluster.yaml", ibmVpcCluster({ bootstrapGroup: false }));
    await expect(open("ibmcloud")).rejects.toThrow(
      `spec.network.securityGroups has no ${INFRA}-security-group-bootstrap with rules`,
    );
  });
});

describe("finding the manifest", () => {
  test("goes by kind: other objects, other folders and odd files beside it do not matter", async () => {
    put("01_capi-cluster-0.yaml", "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\n");
    put("notes.yaml", "kind: [AWSCluster\n");
    put("99_other.yml", awsCluster());
    expect((await open("aws")).file).toBe(path("99_other.yml"));
  });

  test.each([
    ["there is none", () => put("02_gcp-cluster.yaml", "kind: GCPCluster\n"), "No file in"],
    [
      "there are two",
      () => ["a.yaml", "b.yaml"].map((name) => put(name, awsCluster())),
      "hold an object of kind AWSCluster",
    ],
    [
      "a file holds several objects",
      () => put("a.yaml", `${awsCluster()}---\nkind: Other\n`),
      "it holds several objects",
    ],
    ["it is cut off", () => put("a.yaml", `${awsCluster()}  x: "`), "it is not YAML"],
    ["the folder is not there", () => rmSync(join(dir, "cluster-api"), { recursive: true }), "cannot be read"],
  ])("is refused when %s", async (_, arrange, message) => {
    arrange();
    await expect(open("aws")).rejects.toMatchObject({
      code: "DB_FIREWALL_MANIFEST",
      message: expect.stringContaining(message),
    });
  });

  test("is pointless on platforms without one", async () => {
    await expect(open("gcp")).rejects.toThrow(
      "only aws, azure, azurestack, ibmcloud, powervs have the rule in a manifest",
    );
  });

  test("follows a link and leaves it one", async () => {
    writeFileSync(join(dir, "real.yaml"), awsCluster());
    symlinkSync(join(dir, "real.yaml"), path("02_infra-cluster.yaml"));
    await open("aws");
    expect(readFileSync(join(dir, "real.yaml"), "utf8")).toContain("8091");
    expect(readdirSync(dir).sort()).toEqual(["cluster-api", "real.yaml"]);
  });

  test.each([
    [
      "braces",
      "{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2,\nkind: AWSCluster\n, metadata: {name: a}, spec: {network: {a: 1}}}\n",
    ],
    [
      "an empty list",
      awsCluster({ rules: "none" }).replace("  cni:", "  additionalControlPlaneIngressRules: []\n    cni:"),
    ],
  ])("a layout the installer does not write, %s, is refused and left alone", async (_, odd) => {
    put("02_infra-cluster.yaml", odd);
    await expect(open("aws")).rejects.toMatchObject({ code: "DB_FIREWALL_MANIFEST" });
    expect(read("02_infra-cluster.yaml")).toBe(odd);
  });

  test.each([
    ["indented lists", (text: string) => stringify(parse(text))],
    [
      "a remark below the last rule",
      (text: string) => text.replace("toPort: 22\n", "toPort: 22\n      # a remark\n\n"),
    ],
    ["DOS line ends", (text: string) => text.replaceAll("\n", "\r\n")],
    ["no line end at the end", (text: string) => text.trimEnd()],
    [
      "the rules last",
      (text: string) =>
        stringify(
          { ...parse(text), status: undefined, spec: { network: parse(text).spec.network } },
          { indentSeq: false },
        ).trimEnd(),
    ],
  ])("a layout of somebody else, %s, is patched and restored", async (_, relaid) => {
    const odd = relaid(awsCluster());
    put("02_infra-cluster.yaml", odd);
    expect((await open("aws")).changed).toBe(true);
    expect(parse(read("02_infra-cluster.yaml")).spec.network.additionalControlPlaneIngressRules).toHaveLength(3);
    await close("aws");
    expect(read("02_infra-cluster.yaml").trimEnd()).toBe(odd.trimEnd());
  });
});

function linesOnlyIn(before: string, after: string): string[] {
  const left = after.split("\n");
  return before.split("\n").filter((line) => {
    const at = left.indexOf(line);
    if (at >= 0) left.splice(0, at + 1);
    return at < 0;
  });
}
