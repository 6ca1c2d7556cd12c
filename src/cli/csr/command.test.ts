import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ApproverClusterStub } from "../../cluster/nodes/testing/cluster-stub.js";
import { type RequestChange, signingRequest } from "../../cluster/nodes/testing/requests.js";
import { drawbridge } from "../commands.js";
import { captureOutput } from "../testing/output.js";

const printed = captureOutput();
let cluster: ApproverClusterStub;
let folder: string;
let access: string[];

beforeEach(async () => {
  cluster = await ApproverClusterStub.start();
  folder = mkdtempSync(join(tmpdir(), "db-csr-"));
  const kubeconfig = join(folder, "kubeconfig");
  const config = {
    clusters: [{ name: "c", cluster: { server: cluster.url } }],
    contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
    users: [{ name: "u", user: {} }],
    "current-context": "c",
  };
  writeFileSync(kubeconfig, JSON.stringify(config));
  const notBefore = new Date(Date.now() - 60_000).toISOString();
  writeFileSync(
    join(folder, "inventory.yaml"),
    `pool: clusters/workers\nworkers: [{name: w0, ips: [10.0.0.10], notBefore: "${notBefore}"}]\n`,
  );
  access = [`--kubeconfig=${kubeconfig}`, `--inventory=${folder}`];
});

afterEach(async () => {
  await cluster.close();
  rmSync(folder, { recursive: true, force: true });
});

async function file(name: string, change: RequestChange = {}): Promise<void> {
  const subject = [{ O: ["system:nodes"] }, { CN: [`system:node:${name}`] }];
  cluster.requests.put(
    await signingRequest("client", { name: `csr-${name}`, subject, createdAt: Date.now(), ...change }),
  );
}

describe("drawbridge csr approver", () => {
  test("does not start with a directory of the inventory that is not there", async () => {
    const missing = join(folder, "missing");
    const flags = [access[0]!, `--inventory=${missing}`];
    expect(await drawbridge.run("drawbridge", ["csr", "approver", ...flags])).toBe(1);
    expect(printed.stderr).toContain(`there is no directory ${missing}: make it, or leave --inventory out`);
    expect(cluster.stub.requests).toEqual([]);
  });
});

describe("drawbridge csr list", () => {
  test("shows what is pending and what would become of it", async () => {
    await file("w0");
    await file("stranger");
    await file("old", { status: { conditions: [{ type: "Approved", status: "True" }] } });
    expect(await drawbridge.run("drawbridge", ["csr", "list", ...access])).toBe(0);
    expect(printed.stdout.split("\n")).toEqual([
      expect.stringMatching(/^REQUEST +KIND +NODE +POOL +ANSWER +RULE +WHY$/),
      expect.stringMatching(
        /^csr-w0 +client +w0 +clusters\/workers +approve +all +w0 of clusters\/workers is expected/,
      ),
      expect.stringMatching(/^csr-stranger +client +stranger +- +leave +expected +nobody expects stranger$/),
      "",
    ]);
    expect(cluster.stub.requests.every(({ method }) => method === "GET")).toBe(true);
  });

  test("speaks JSON to scripts, and says when nothing is pending", async () => {
    expect(await drawbridge.run("drawbridge", ["csr", "list", ...access])).toBe(0);
    expect(printed.stdout).toBe("No request of a kubelet is pending.\n");
    printed.stdout = "";
    await file("w0");
    expect(await drawbridge.run("drawbridge", ["csr", "list", "--output=json", ...access])).toBe(0);
    expect(JSON.parse(printed.stdout)).toMatchObject({
      requests: [{ request: "csr-w0", action: "approve", rule: "all" }],
      others: [],
    });
  });

  test("shows the requests of a node's network as other signers' with who decides, and approves none of them", async () => {
    const signerName = "kubernetes.io/kube-apiserver-client";
    const subjectOf = (group: string, user: string) => [{ O: [group] }, { CN: [user] }];
    await file("ovn", {
      ...{
        subject: subjectOf("system:ovn-nodes", "system:ovn-node:w0"),
        spec: { signerName, username: "system:node:w0" },
      },
    });
    await file("multus", {
      ...{
        subject: subjectOf("system:multus", "system:multus:w0"),
        spec: { signerName, username: "system:multus:w0" },
      },
    });
    const username = "system:ovn-node:w0";
    await file("ipsec", { spec: { signerName: "network.openshift.io/signer", username } });
    await file("done", { spec: { signerName }, status: { conditions: [{ type: "Approved", status: "True" }] } });
    await file("vendor", { spec: { signerName: "example.com/x", username: "somebody", request: "no request" } });
    expect(await drawbridge.run("drawbridge", ["csr", "list", ...access])).toBe(0);
    expect(printed.stdout.split("\n")).toEqual([
      "No request of a kubelet is pending.",
      "",
      "Pending requests of other signers, which drawbridge never approves:",
      expect.stringMatching(/^REQUEST +SIGNER +SUBJECT +USER +WHO DECIDES$/),
      expect.stringMatching(/^csr-ovn +\S+-client +system:ovn-node:w0 +system:node:w0 +network-node-identity$/),
      expect.stringMatching(/^csr-multus +\S+-client +system:multus:w0 +system:multus:w0 +network-node-identity$/),
      expect.stringMatching(/^csr-ipsec +network.openshift.io\/signer +.* +cluster-network-operator$/),
      expect.stringMatching(/^csr-vendor +example.com\/x +- +somebody +whoever approves for example.com\/x$/),
      "",
    ]);
    printed.stdout = "";
    expect(await drawbridge.run("drawbridge", ["csr", "list", "--output=json", ...access])).toBe(0);
    expect(JSON.parse(printed.stdout).others[0]).toEqual({
      ...{ request: "csr-ovn", signer: signerName, subject: "system:ovn-node:w0", user: "system:node:w0", node: "w0" },
      decider: "network-node-identity",
    });
    expect(await drawbridge.run("drawbridge", ["csr", "approve", "csr-ovn", ...access])).toBe(1);
    expect(printed.stderr).toContain("so network-node-identity decides about it");
    expect(cluster.stub.requests.every(({ method }) => method === "GET")).toBe(true);
  });
});

describe("drawbridge csr explain", () => {
  test("goes through every rule and ends by what would become of it", async () => {
    await file("w0");
    await file("stranger");
    expect(await drawbridge.run("drawbridge", ["csr", "explain", "csr-w0", ...access])).toBe(0);
    expect(printed.stdout).toMatch(
      /^csr-w0 asks for a client certificate of w0 in clusters\/workers and would be approved: /,
    );
    expect(printed.stdout).not.toContain("BROKEN");
    printed.stdout = "";
    expect(await drawbridge.run("drawbridge", ["csr", "explain", "csr-stranger", ...access])).toBe(1);
    expect(printed.stdout).toContain("stays pending: nobody expects stranger (rule expected)");
    expect(printed.stdout).toMatch(
      /\n {2}BROKEN {2}expected +nobody expects stranger \(demanded: .*; --despite works\)\n/,
    );
    expect(printed.stdout).toMatch(/\n {2}kept {4}usages +the usages are exactly a kubelet's\n/);
  });

  test("says why there is nothing to explain", async () => {
    await file("foreign", { spec: { signerName: "example.com/x" } });
    await file("old", { status: { conditions: [{ type: "Denied", status: "True" }] } });
    for (const [name, why] of [
      ["csr-foreign", "is for the signer example.com/x, so whoever approves for example.com/x decides about it"],
      ["csr-old", "is denied already"],
      ["csr-none", "there is no request csr-none"],
    ] as const) {
      expect(await drawbridge.run("drawbridge", ["csr", "explain", name, ...access])).toBe(1);
      expect(printed.stderr).toContain(why);
      expect(printed.stderr).toContain("DB_CSR_REQUEST");
    }
  });
});

describe("drawbridge csr approve", () => {
  const log = () =>
    readFileSync(join(folder, "log"), "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));

  test("approves what is in order", async () => {
    await file("w0");
    expect(
      await drawbridge.run("drawbridge", [
        "csr",
        "approve",
        "csr-w0",
        `--decision-log=${join(folder, "log")}`,
        ...access,
      ]),
    ).toBe(0);
    expect(cluster.answers).toEqual(["csr-w0 Approved"]);
    expect(log()).toMatchObject([{ by: "by hand", action: "approve", rule: "all", request: "csr-w0" }]);
    expect(cluster.configMaps.objects.get("drawbridge-csr-approver")).toMatchObject({
      data: { w0: expect.any(String) },
    });
  });

  test("needs the rules to overlook by name, and records them", async () => {
    await file("stranger");
    expect(await drawbridge.run("drawbridge", ["csr", "approve", "csr-stranger", ...access])).toBe(1);
    expect(printed.stderr).toContain("csr-stranger is not approved, because nobody expects stranger (rule expected)");
    expect(cluster.answers).toEqual([]);
    const despite = ["--despite=expected", `--decision-log=${join(folder, "log")}`];
    expect(await drawbridge.run("drawbridge", ["csr", "approve", "csr-stranger", ...despite, ...access])).toBe(0);
    expect(cluster.answers).toEqual(["csr-stranger Approved"]);
    expect(log()).toMatchObject([{ action: "approve", despite: ["expected"], node: "stranger" }]);
  });

  test("never overlooks who filed a request and what it looks like, and denies nothing", async () => {
    await file("w0", { subject: [{ O: ["system:masters"] }, { CN: ["system:node:w0"] }] });
    expect(await drawbridge.run("drawbridge", ["csr", "approve", "csr-w0", "--despite=subject-group", ...access])).toBe(
      1,
    );
    expect(printed.stderr).toContain("rule subject-group");
    expect(cluster.answers).toEqual([]);
  });
});

describe("misuse", () => {
  test.each([
    [["explain"], "the name of the request is missing"],
    [["approve", "a", "b"], "the name of the request is enough"],
    [["list", "word"], '"word" belongs to no flag'],
    [["list", "--node-cidr=10.0.0.0"], '"--node-cidr" flag: "10.0.0.0" is not a network'],
    [["approver", "--surge=-1"], '"--surge" flag: must be at least 0'],
    [["approver", "--bootstrap-user="], '"--bootstrap-user" flag: must not be empty'],
    [["approver", "--interval=1ms"], '"--interval" flag: must be at least 100ms'],
    [["approver", "--health-port=70000"], '"--health-port" flag: must be a port from 0 to 65535'],
    [["approve-all"], "unknown command"],
  ])("%j", async (argv, message) => {
    expect(await drawbridge.run("drawbridge", ["csr", ...argv])).toBe(2);
    expect(printed.stderr).toContain(message);
    expect(printed.stderr.trimEnd().split("\n")).toHaveLength(1);
  });

  test("of the inventory is one sentence", async () => {
    writeFileSync(join(folder, "broken.yaml"), "pool: x");
    expect(await drawbridge.run("drawbridge", ["csr", "list", ...access])).toBe(1);
    expect(printed.stderr).toMatch(/broken\.yaml cannot be used: pool must be namespace\/name \(DB_CSR_INVENTORY: /);
  });

  test("is avoided by --help, which shows the inventory's format and the permissions", async () => {
    expect(await drawbridge.run("drawbridge", ["csr", "approver", "--help"])).toBe(0);
    expect(printed.stdout).toContain("drawbridge/inventory=true");
    expect(printed.stdout).toContain("certificatesigningrequests/approval update");
  });
});
