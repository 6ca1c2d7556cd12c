import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { parseAllDocuments, stringify } from "yaml";
import { collectionPath } from "../../cluster/kube/paths.js";
import {
  clusterMap,
  makePool,
  namespace,
  PoolFixture,
  pullSecret,
} from "../../cluster/nodes/controller/testing/fixture.js";
import { drawbridge } from "../commands.js";
import { captureOutput } from "../testing/output.js";

const printed = captureOutput();
let fixture: PoolFixture;
let access: string[];

beforeEach(() => {
  fixture = new PoolFixture();
  access = [`--directory=${fixture.directory}`, `--namespace=${namespace}`];
});

afterEach(async () => {
  await fixture.close();
});

function file(...objects: readonly object[]): string {
  const path = join(fixture.directory, "objects.txt");
  writeFileSync(path, objects.map((object) => stringify(object)).join("---\n"));
  return path;
}

/** The status is written last. */
const ready = () =>
  vi.waitFor(
    async () => {
      expect(await drawbridge.run("drawbridge", ["nodepool", "status", "workers", ...access])).toBe(0);
      expect((await fixture.pool()).status?.version).toBe("4.18.0");
    },
    { timeout: 10_000, interval: 50 },
  );

describe("drawbridge nodepool apply", () => {
  test("writes a pool and the objects it refers to into a directory, and says what changed", async () => {
    const path = file(makePool(), clusterMap, pullSecret);
    expect(await drawbridge.run("drawbridge", ["nodepool", "apply", "-f", path, ...access])).toBe(0);
    expect(printed.stdout).toBe(
      "created    Secret clusters/pull-secret\ncreated    ConfigMap clusters/demo\ncreated    NodePool clusters/workers\n3 created\n",
    );
    printed.stdout = "";
    expect(await drawbridge.run("drawbridge", ["nodepool", "apply", "-f", path, "--output=json", ...access])).toBe(0);
    expect(JSON.parse(printed.stdout).objects.map(({ action }: { action: string }) => action)).toEqual([
      "unchanged",
      "unchanged",
      "unchanged",
    ]);
  });

  test.each([
    ["a field that is wrong", [makePool("workers", { arch: "riscv" })], "spec.arch must be one of amd64, arm64"],
    ["a kind that is none of ours", [{ apiVersion: "v1", kind: "Pod", metadata: { name: "a" } }], "it holds a Pod"],
    ["an object without a name", [{ apiVersion: "v1", kind: "Secret" }], "has no metadata.name"],
    [
      "a number where a text belongs",
      [{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" }, data: { version: 4.18 } }],
      "ConfigMap a: data.version must be a text, in quotes if need be",
    ],
    ["nothing", [], "it holds no object"],
  ])("writes nothing because of %s", async (_, objects, sentence) => {
    const path = objects.length === 0 ? file() : file(clusterMap, ...objects);
    expect(await drawbridge.run("drawbridge", ["nodepool", "apply", "-f", path, ...access])).toBe(1);
    expect(printed.stderr).toContain(sentence);
    expect((await fixture.api.list(collectionPath("ConfigMap", namespace))).items).toEqual([]);
  });

  test("refuses to change what machines were made for", async () => {
    expect(
      await drawbridge.run("drawbridge", [
        "nodepool",
        "apply",
        "-f",
        file(makePool("workers", { arch: "amd64" })),
        ...access,
      ]),
    ).toBe(0);
    expect(
      await drawbridge.run("drawbridge", [
        "nodepool",
        "apply",
        "-f",
        file(makePool("workers", { arch: "arm64" })),
        ...access,
      ]),
    ).toBe(1);
    expect(printed.stderr).toContain("spec.arch must not change");
    expect((await fixture.pool()).spec?.arch).toBe("amd64");
  });

  test.each([
    [["apply"], "--filename is missing"],
    [["apply", "-f", "x", "--kubeconfig=y"], "exclude each other"],
    [["apply", "-f", "x", "more"], '"more" belongs to no flag'],
    [["controller", "--namespace=No"], "must be the name of a namespace"],
    [["controller", "--health-port=70000"], '"--health-port" flag: must be a port'],
    [["controller", "--issue-bootstrap-kubeconfig"], "a directory issues no tokens"],
    [["controller", "--hosted-kubeconfig=x"], "need --issue-bootstrap-kubeconfig"],
    [["install"], "--image is missing"],
    [["install", "--image=i", "--components=cook"], 'has "cook"'],
    [["install", "--image=i", "--api-port=0"], "must be 1 to 65535"],
    [["install", "--image=i", "--ignition-node-port=70000"], "must be a port from 1 to 65535"],
    [["install", "--image=i", "--ignition-node-port=30080"], "needs ignition among --components"],
    [
      ["install", "--image=i", "--components=ignition", "--ignition-node-port=30080"],
      "needs --ignition-service NodePort or LoadBalancer",
    ],
    [["status", "a", "b"], "one name too many"],
  ])("calls %j misuse", async (argv, sentence) => {
    const needsObjects = !["install"].includes(argv[0]!);
    expect(
      await drawbridge.run("drawbridge", [
        "nodepool",
        ...argv,
        ...(needsObjects ? [`--directory=${fixture.directory}`] : []),
      ]),
    ).toBe(2);
    expect(printed.stderr).toContain(sentence);
  });
});

describe("drawbridge nodepool status", () => {
  test("says that no controller has reconciled a pool yet, then its state, and never a token", async () => {
    await fixture.addObjects(makePool());
    expect(await drawbridge.run("drawbridge", ["nodepool", "status", "workers", ...access])).toBe(1);
    expect(printed.stdout).toContain("No controller has looked at it yet.");
    fixture.start();
    await ready();
    printed.stdout = "";
    expect(await drawbridge.run("drawbridge", ["nodepool", "status", ...access])).toBe(0);
    expect(printed.stdout).toMatch(/clusters\/workers\s+demo\s+4\.18\.0\s+[0-9a-f]{8}\s+ready/);
    expect(await drawbridge.run("drawbridge", ["nodepool", "status", "workers", "--output=json", ...access])).toBe(0);
    const [token] = await fixture.secrets("token-");
    expect(printed.stdout).toContain(token?.metadata?.name);
    expect(printed.stdout).not.toContain(Buffer.from(token?.data?.token ?? "", "base64").toString());
    expect(await drawbridge.run("drawbridge", ["nodepool", "status", "nobody", ...access])).toBe(1);
    expect(printed.stderr).toContain("there is no pool clusters/nobody; there is: clusters/workers");
  });
});

describe("drawbridge nodepool install --output yaml", () => {
  test("prints objects and asks no cluster", async () => {
    expect(
      await drawbridge.run("drawbridge", ["nodepool", "install", "--image=registry.example/d:1", "--output=yaml"]),
    ).toBe(0);
    const kinds = parseAllDocuments(printed.stdout).map((document) => (document.toJS() as { kind: string }).kind);
    expect(kinds.slice(0, 2)).toEqual(["Namespace", "CustomResourceDefinition"]);
    expect(kinds.filter((kind) => kind === "Deployment").length).toBe(2);
  });
});

describe("drawbridge nodepool install --ignition-node-port", () => {
  const servicePorts = async (...flags: string[]) => {
    const argv = ["--image=i", "--components=ignition", "--ignition-service=NodePort", "--output=yaml", ...flags];
    expect(await drawbridge.run("drawbridge", ["nodepool", "install", ...argv])).toBe(0);
    const objects = parseAllDocuments(printed.stdout).map((document) => document.toJS());
    return objects.find(({ kind }) => kind === "Service").spec.ports;
  };

  test("chooses the port of the Ignition server's Service on every node", async () => {
    expect(await servicePorts("--ignition-node-port=30080")).toMatchObject([{ port: 443, nodePort: 30080 }]);
  });

  test("is left to the cluster unless it is given", async () => {
    expect(await servicePorts()).toEqual([{ name: "ignition", port: 443, targetPort: "ignition", protocol: "TCP" }]);
  });
});

describe("a directory after a pool was made in it", () => {
  test("holds the Secrets as files", async () => {
    await fixture.addObjects(makePool());
    fixture.start();
    await ready();
    const [userData] = await fixture.secrets("user-data-");
    const text = readFileSync(join(fixture.directory, `secret_clusters_${userData?.metadata?.name}.yaml`), "utf8");
    expect(text).toContain("kind: Secret");
  });
});
