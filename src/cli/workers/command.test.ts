import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { collectionPath, namedPath } from "../../cluster/kube/paths.js";
import {
  clusterMap,
  controllerNamespace,
  makePool,
  namespace,
  PoolFixture,
} from "../../cluster/nodes/controller/testing/fixture.js";
import { WorkerObjects } from "../../cluster/nodes/csr/inventory-workers.js";
import { annotation, type Secret } from "../../cluster/nodes/objects.js";
import { workerTokensOfSecret } from "../../cluster/nodes/serving/worker-tokens.js";
import { readUserData } from "../../cluster/nodes/token/user-data.js";
import type { WorkerObject } from "../../cluster/nodes/workers/resource.js";
import { drawbridge } from "../commands.js";
import { captureOutput } from "../testing/output.js";

const printed = captureOutput();
let fixture: PoolFixture;
let state: string;
let access: string[];

beforeEach(async () => {
  fixture = new PoolFixture();
  // Hidden, or the controller would take its files for objects.
  state = join(fixture.directory, ".workers");
  access = [`--directory=${fixture.directory}`, `--namespace=${namespace}`, `--state=${state}`];
  await fixture.addObjects(makePool());
});

afterEach(async () => {
  await fixture.close();
});

async function withPool(): Promise<Secret> {
  fixture.start();
  return vi.waitFor(
    async () => {
      // Looked at first: it is written last.
      expect((await fixture.pool()).status?.version).toBe("4.18.0");
      const [secret] = await fixture.secrets("user-data-");
      return secret!;
    },
    { timeout: 10_000, interval: 20 },
  );
}

const create = (...flags: string[]) =>
  drawbridge.run("drawbridge", ["workers", "create", "--pool=workers", ...flags, ...access]);
const bearerOf = (secret: Secret): string =>
  JSON.parse(readUserData(secret)).ignition.config.merge[0].httpHeaders[0].value;
const inventory = () => new WorkerObjects(fixture.api, namespace).expected();
const expected = async () => [...(await inventory()).workers.keys()];

describe("drawbridge workers create", () => {
  test("writes user data that opens the pool's configuration, and tells the approver whom to expect", async () => {
    const secret = await withPool();
    expect(await create("--count=3", "--zones=a,b", "--name-prefix=rack", "--own-token=false")).toBe(0);
    const file = join(state, "rack-1.ign");
    const token = bearerOf(secret);
    expect(readFileSync(file, "utf8")).toContain(token);
    expect(readFileSync(file, "utf8")).toContain("data:,rack-1%0A");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(printed.stdout).toContain(`rack-1 in b user data written: ${file}`);
    expect(printed.stdout).not.toContain(token);
    const { pools, workers } = await inventory();
    expect([...workers.keys()]).toEqual(["rack-0", "rack-1", "rack-2"]);
    expect(pools.get("clusters/workers")).toEqual({ replicas: undefined, workers: 3 });
    const { deadline, notBefore } = workers.get("rack-0")!;
    expect(deadline - notBefore).toBe(2 * 60 * 60_000);
  });

  test("keeps what there is when more are wanted", async () => {
    await withPool();
    await create("--count=2");
    const before = readFileSync(join(state, "workers-0.ign"), "utf8");
    printed.stdout = "";
    expect(await create("--count=3", "--output=json")).toBe(0);
    expect(JSON.parse(printed.stdout).workers.map(({ action }: { action: string }) => action)).toEqual([
      "kept",
      "kept",
      "user data written",
    ]);
    expect(readFileSync(join(state, "workers-0.ign"), "utf8")).toBe(before);
  });

  test("never makes fewer, and never uses a name twice", async () => {
    await withPool();
    await create("--count=3");
    expect(await create("--count=2")).toBe(1);
    expect(printed.stderr).toContain("there are 3 workers of clusters/workers called workers-... already, more than 2");
    expect(await drawbridge.run("drawbridge", ["workers", "delete", "workers-2", ...access])).toBe(0);
    expect(await create("--count=3")).toBe(0);
    expect(await expected()).toEqual(["workers-0", "workers-1", "workers-3"]);
  });

  test("runs a command for each, remembers how far it came, and goes on from there", async () => {
    await withPool();
    const made = join(fixture.directory, "made.txt");
    const script = join(fixture.directory, "make.txt");
    const program = (limit: number) =>
      `const fs = require("node:fs"); const [, , name, zone, file] = process.argv;
       if (name === "workers-${limit}") { console.error("no quota"); process.exit(1); }
       fs.appendFileSync(${JSON.stringify(made)}, [name, zone, fs.statSync(file).size > 0].join(" ") + "\\n");`;
    writeFileSync(script, program(1));
    const flags = (file: string) => [
      ...["--count=3", "--zones=a", "--provider=command"],
      `--create-command=node ${file} {name} {zone} {userdata}`,
    ];
    expect(await create(...flags(script))).toBe(1);
    expect(printed.stderr).toContain("node failed for workers-1: no quota");
    expect(await expected()).toEqual(["workers-0", "workers-1", "workers-2"]);
    const corrected = join(fixture.directory, "corrected.txt");
    writeFileSync(corrected, program(-1));
    expect(await create(...flags(corrected))).toBe(0);
    expect(readFileSync(made, "utf8")).toBe("workers-0 a true\nworkers-1 a true\nworkers-2 a true\n");
  });

  test("gives each worker a token of its own, for our own server knows such, keeps it, and takes it back", async () => {
    await withPool();
    const tokens = async () => {
      const [secret] = await fixture.secrets("worker-tokens-");
      return new Map(workerTokensOfSecret(secret!).map(({ token, worker }) => [worker, token]));
    };
    expect(await create("--count=2")).toBe(0);
    const first = await tokens();
    expect([...first.keys()]).toEqual(["workers-0", "workers-1"]);
    const bearer = Buffer.from(first.get("workers-1") ?? "").toString("base64");
    expect(readFileSync(join(state, "workers-1.ign"), "utf8")).toContain(`Bearer ${bearer}`);
    expect(await create("--count=3")).toBe(0);
    expect(await drawbridge.run("drawbridge", ["workers", "userdata", "workers-1", ...access])).toBe(0);
    expect(printed.stdout).toContain(`Bearer ${bearer}`);
    expect(new Set((await tokens()).values()).size).toBe(3);
    expect(await drawbridge.run("drawbridge", ["workers", "delete", "workers-1", ...access])).toBe(0);
    expect([...(await tokens()).keys()]).toEqual(["workers-0", "workers-2"]);
    expect((await tokens()).get("workers-0")).toBe(first.get("workers-0"));
  });

  test("makes workers under names of their own, with addresses for their serving certificates", async () => {
    await withPool();
    const named = ["--names=host-a,host-b.example", "--ips=host-a=10.0.0.1", "--ips=host-a=fd00::1"];
    expect(await create(...named, "--dns-names=host-a=a.example")).toBe(0);
    const { workers } = await inventory();
    expect([...workers.keys()]).toEqual(["host-a", "host-b.example"]);
    expect(workers.get("host-a")).toMatchObject({ ips: ["10.0.0.1", "fd00::1"], dnsNames: ["a.example"] });
    expect(await create("--names=host-b.example", "--ips=host-b.example=10.0.0.2")).toBe(0);
    expect((await inventory()).workers.get("host-b.example")?.ips).toEqual(["10.0.0.2"]);
    expect(await create("--names=host-b.example", "--ips=host-c=10.0.0.2")).toBe(1);
    expect(printed.stderr).toContain("host-c is none of these workers");
  });

  test("gives a name that was used before to a machine that is installed again, when that is asked for", async () => {
    await withPool();
    expect(await create("--names=host-a")).toBe(0);
    expect(await drawbridge.run("drawbridge", ["workers", "delete", "host-a", ...access])).toBe(0);
    expect(await create("--names=host-a")).toBe(1);
    expect(printed.stderr).toMatch(/host-a was removed at .*: --reinstall uses the name again/);
    expect(await create("--names=host-a", "--reinstall")).toBe(0);
    expect((await inventory()).workers.get("host-a")?.reinstalled).toBeDefined();
  });

  test("ends with a command that admits them, and says what is missing for their serving certificates", async () => {
    await withPool();
    expect(await create()).toBe(0);
    expect(printed.stdout).toContain("Their serving certificates stay pending");
    expect(printed.stdout).toMatch(
      /The token of each is its own. It ends when its node is Ready, and at 20.* at the latest/,
    );
    const words = printed.stdout.trim().split("\n").at(-1)?.replace("Admit them with drawbridge ", "").split(" ") ?? [];
    expect(words).toEqual(["csr", "approver", "--directory", fixture.directory, "--namespace", namespace]);
    printed.stdout = "";
    expect(await create("--node-cidr=10.0.0.0/16", "--count=2")).toBe(0);
    expect(printed.stdout).not.toContain("Their serving certificates stay pending");
    expect((await inventory()).workers.get("workers-1")?.networks?.has("10.0.1.2")).toBe(true);
  });

  test("only shows gcloud's arguments in a dry run, and leaves nothing behind", async () => {
    await withPool();
    const flags = ["--provider=gcloud", "--zones=a", "--machine-type=n2", "--image=rhcos", "--disk=100", "--dry-run"];
    expect(await create(...flags)).toBe(0);
    expect(printed.stdout).toBe(
      `workers-0 in a would be made: gcloud compute instances create workers-0 --zone=a --machine-type=n2 --image=rhcos --boot-disk-size=100GB --metadata-from-file=user-data=${join(state, "workers-0.ign")} --quiet\n`,
    );
    expect(await create("--dry-run", "--output=json", "--tags=nodes", "--network=vpc", ...flags)).toBe(0);
    const { firewall } = JSON.parse(printed.stdout.slice(printed.stdout.indexOf("{"))) as { firewall: string[] };
    expect(firewall.slice(3)).toEqual([
      ...["create", "drawbridge-ignition-workers", "--network=vpc", "--direction=INGRESS", "--allow=tcp:443"],
      ...["--source-tags=nodes", "--quiet"],
    ]);
    expect([await expected(), await fixture.secrets("worker-tokens-")]).toEqual([[], []]);
  });

  test("records nothing when the provider's tool is not on this host", async () => {
    await withPool();
    vi.stubEnv("PATH", fixture.directory);
    expect(await create("--provider=gcloud", "--zones=a")).toBe(1);
    vi.unstubAllEnvs();
    expect(printed.stderr).toContain("the program gcloud is not on this host");
    expect([await expected(), await fixture.secrets("worker-tokens-")]).toEqual([[], []]);
  });

  test("makes the firewall rule when asked to, and machines with arguments that are in no object", async () => {
    await withPool();
    const log = join(fixture.directory, "gcloud.txt");
    const bin = join(fixture.directory, ".bin");
    mkdirSync(bin);
    writeFileSync(join(bin, "gcloud"), `#!/bin/sh\necho "$*" >> ${log}\n`, { mode: 0o755 });
    vi.stubEnv("PATH", `${bin}:${process.env.PATH}`);
    const flags = [
      "--provider=gcloud",
      "--zones=a",
      "--tags=nodes",
      "--create-arg=--preemptible",
      "--open-ignition-port",
    ];
    expect(await create(...flags)).toBe(0);
    vi.unstubAllEnvs();
    expect(readFileSync(log, "utf8")).toMatch(
      /^compute firewall-rules create .*--source-tags=nodes --quiet\ncompute instances create workers-0 .*--preemptible .*\n$/,
    );
    const { spec } = await fixture.api.get<WorkerObject>(namedPath("Worker", { namespace, name: "workers-0" }));
    expect(JSON.stringify(spec)).not.toContain("preemptible");
    expect(spec).toMatchObject({ hasCreateArguments: true, shape: { tags: "nodes" } });
  });

  test("says how a machine is installed that others make, without its token", async () => {
    await withPool();
    expect(await create()).toBe(0);
    const file = join(state, "workers-0.ign");
    const [, token = ""] = /Bearer ([^"]+)/.exec(readFileSync(file, "utf8")) ?? [];
    for (const [format, line] of [
      ["coreos-installer", `coreos-installer install /dev/vda --ignition-file=${file}\n`],
      ["ipxe", "workers-0-initramfs.img\nboot\n"],
    ] as const) {
      printed.stdout = "";
      const flags = [`--format=${format}`, "--device=/dev/vda", "--boot-url=http://boot.example/coreos"];
      expect(await drawbridge.run("drawbridge", ["workers", "userdata", "workers-0", ...flags, ...access])).toBe(0);
      expect(printed.stdout).toContain(line);
      expect([token === "", printed.stdout.includes(token)]).toEqual([false, false]);
    }
  });

  test("knows the provider none by its former name, too", async () => {
    await withPool();
    expect(await create("--provider=files", "--output=json")).toBe(0);
    expect(
      (await fixture.api.get<WorkerObject>(namedPath("Worker", { namespace, name: "workers-0" }))).spec,
    ).toMatchObject({
      provider: "none",
    });
  });

  test("takes the user data of a HyperShift cluster from its control plane's namespace", async () => {
    const secret = await withPool();
    const moved = { ...secret, metadata: { ...secret.metadata, namespace: controllerNamespace } };
    await fixture.close(false);
    await fixture.api.create(collectionPath("Secret", controllerNamespace), moved);
    await fixture.api.delete(namedPath("Secret", { namespace, name: secret.metadata?.name ?? "" }));
    expect(await create()).toBe(0);
    // HyperShift's own server knows only the pool's.
    expect(readFileSync(join(state, "workers-0.ign"), "utf8")).toContain(bearerOf(secret));
    expect(await fixture.secrets("worker-tokens-")).toEqual([]);
  });

  test("makes nothing for a pool that is not ready, or not there", async () => {
    expect(await create()).toBe(1);
    expect(printed.stderr).toContain("pool clusters/workers has no configuration yet");
    expect(await drawbridge.run("drawbridge", ["workers", "create", "--pool=nobody", ...access])).toBe(1);
    expect(printed.stderr).toContain("there is no pool clusters/nobody");
    expect(existsSync(state)).toBe(false);
  });

  test.each([
    [["create"], "--pool is missing"],
    [["create", "--pool=p", "--count=0"], '"--count" flag: must be at least 1'],
    [["create", "--pool=p", "--provider=command"], "needs --create-command"],
    [["create", "--pool=p", "--create-command=a"], "go with --provider command"],
    [["create", "--pool=p", "--provider=command", "--create-command=a {x}"], "is not known"],
    [["create", "--pool=p", "--disk=big"], "must be a number of GB"],
    [["create", "--pool=p", "--machine-type=n2"], "--machine-type means nothing to --provider none"],
    [["create", "--pool=p", "--provider=libvirt", "--tags=a"], "--tags means nothing to --provider libvirt"],
    [["create", "--pool=p", "--create-arg=a"], "--create-arg goes with --provider gcloud or libvirt"],
    [["create", "--pool=p", "--provider=gcloud", "--libvirt-uri=a"], "--libvirt-uri goes with --provider libvirt"],
    [["create", "--pool=p", "--labels=a"], "it must be KEY=VALUE"],
    [["create", "--pool=p", "--window=1s"], '"--window" flag: must be at least 1m'],
    [["create", "--pool=p", "--names=a,a"], "is there twice"],
    [["create", "--pool=p", "--ips=a=b"], "it must be NAME=ADDRESS"],
    [["create", "--pool=p", "--reinstall"], "--reinstall goes with --names"],
    [["adopt", "--pool=p"], "the nodes' names are missing"],
    [["userdata"], "the worker's name is missing"],
    [["userdata", "a", "--window=5m"], "--window goes with --renew"],
    [["userdata", "a", "--format=ipxe"], "needs --boot-url"],
    [["userdata", "a", "--format=ipxe", "--boot-url=http://x/?token=a"], "needs --boot-url"],
    [["delete"], "the workers' names are missing"],
    [["delete", "a", "--all"], "exclude each other"],
    [["scale", "--pool=p"], "--count is missing"],
    [["scale", "--pool=p", "--count=-1"], '"--count" flag: must be at least 0'],
    [["scale", "--pool=p", "--count=1", "--max-unavailable=0"], '"--max-unavailable" flag: must be at least 1'],
    [["scale", "--pool=p", "--count=1", "--drain-timeout=0s"], '"--drain-timeout" flag: must be at least 1ms'],
    [["replace"], "the workers' names are missing"],
    [["replace", "a", "--behind", "--pool=p"], "names and --behind exclude each other"],
    [["replace", "--behind"], "--pool is missing"],
    [["up", "--pool=p", "--approve", "--approved-elsewhere"], "exclude each other"],
    [["up", "--pool=p", "--node-cidr=x"], "--node-cidr"],
    [["up", "--pool=p", "--pod-image="], '"--pod-image" flag: must not be empty'],
    [["verify"], "--pool is missing"],
    [["verify", "--pool=p", "--pods=some"], "must be one of all, one, none"],
  ])("calls %j misuse", async (argv, sentence) => {
    expect(await drawbridge.run("drawbridge", ["workers", ...argv, ...access])).toBe(2);
    expect(printed.stderr).toContain(sentence);
  });
});

describe("workers that there are", () => {
  test("are listed with whose configuration is behind", async () => {
    await withPool();
    await create("--count=2");
    const newer = { ...clusterMap, data: { ...clusterMap.data, version: "4.18.1" } };
    await fixture.api.update(namedPath("ConfigMap", { namespace, name: "demo" }), newer);
    await vi.waitFor(async () => expect((await fixture.secrets("token-")).length).toBe(2), { timeout: 10_000 });
    const behind = async () => {
      printed.stdout = "";
      expect(await drawbridge.run("drawbridge", ["workers", "list", "--output=json", ...access])).toBe(0);
      return JSON.parse(printed.stdout).workers.map((worker: { behind?: boolean }) => worker.behind);
    };
    await vi.waitFor(async () => expect(await behind()).toEqual([true, true]), { timeout: 10_000 });
    expect(await drawbridge.run("drawbridge", ["workers", "userdata", "workers-1", ...access])).toBe(0);
    expect(await behind()).toEqual([true, false]);
    printed.stdout = "";
    expect(await drawbridge.run("drawbridge", ["workers", "list", ...access])).toBe(0);
    expect(printed.stdout).toMatch(/workers-1 +clusters\/workers +- +none +yes +missing +[0-9a-f]{8} +current/);
  });

  test("get fresh user data, and a new window when asked", async () => {
    const secret = await withPool();
    await create("--window=1m", "--own-token=false");
    const window = async () => {
      const { deadline, notBefore } = (await inventory()).workers.get("workers-0")!;
      return deadline - notBefore;
    };
    printed.stdout = "";
    expect(
      await drawbridge.run("drawbridge", ["workers", "userdata", "workers-0", "--set-hostname=false", ...access]),
    ).toBe(0);
    expect(printed.stdout).toBe(`${readUserData(secret)}\n`);
    expect(await window()).toBe(60_000);
    expect(await drawbridge.run("drawbridge", ["workers", "userdata", "workers-0", "--renew", ...access])).toBe(0);
    expect(await window()).toBe(2 * 60 * 60_000);
    expect(await drawbridge.run("drawbridge", ["workers", "userdata", "workers-9", ...access])).toBe(1);
    expect(printed.stderr).toContain("there is no worker workers-9");
  });

  test("are removed from everywhere, with their machine", async () => {
    await withPool();
    const gone = join(fixture.directory, "gone.txt");
    const remove = `--delete-command=node -e 'require("node:fs").appendFileSync(process.argv[1], process.argv[2])' ${gone} {name}`;
    expect(await create("--count=2", "--provider=command", "--create-command=true", remove)).toBe(0);
    expect(await drawbridge.run("drawbridge", ["workers", "delete", "workers-0", "workers-7", ...access])).toBe(1);
    expect(await drawbridge.run("drawbridge", ["workers", "delete", "workers-0", "--dry-run", ...access])).toBe(0);
    expect(existsSync(gone)).toBe(false);
    expect(await drawbridge.run("drawbridge", ["workers", "delete", "workers-0", ...access])).toBe(0);
    expect(readFileSync(gone, "utf8")).toBe("workers-0");
    expect(existsSync(join(state, "workers-0.ign"))).toBe(false);
    expect(await expected()).toEqual(["workers-1"]);
    expect(await drawbridge.run("drawbridge", ["workers", "delete", "--all", ...access])).toBe(0);
    expect(await expected()).toEqual([]);
  });

  test("that are gone are expected nowhere, even when the next machine cannot be removed", async () => {
    await withPool();
    const remove = `--delete-command=sh -c 'test "$0" != workers-1' {name}`;
    const how = ["--provider=command", "--create-command=true", remove];
    expect(await create("--count=3", ...how)).toBe(0);
    expect([await drawbridge.run("drawbridge", ["workers", "delete", "--all", ...access]), printed.stderr]).toEqual([
      1,
      expect.stringContaining("sh failed for workers-1"),
    ]);
    expect(await expected()).toEqual(["workers-1", "workers-2"]);
  });

  test("are listed by what their nodes say of themselves", async () => {
    await withPool();
    await create("--count=2");
    const put = async (name: string, status: string, hash: string) => {
      const annotations = { [annotation.currentConfigVersion]: hash };
      const node = { apiVersion: "v1", kind: "Node", metadata: { name, annotations } };
      await fixture.api.create("/api/v1/nodes", node);
      // Whatever its version is: the controller labels it at the same time.
      await fixture.api.update(`/api/v1/nodes/${name}/status`, {
        ...node,
        status: { conditions: [{ type: "Ready", status }] },
      } as typeof node);
    };
    const current = (await fixture.pool()).metadata?.annotations?.[annotation.currentConfigVersion] ?? "";
    await put("workers-0", "True", current);
    await put("workers-1", "False", "01234567");
    printed.stdout = "";
    expect(await drawbridge.run("drawbridge", ["workers", "list", ...access])).toBe(0);
    expect(printed.stdout).toMatch(new RegExp(`workers-0 .* yes +Ready +${current} +current`));
    expect(printed.stdout).toMatch(/workers-1 .* yes +NotReady +01234567 +behind/);
  });

  test("are made of nodes that are there already, with the addresses that these report", async () => {
    await withPool();
    const node = { apiVersion: "v1", kind: "Node", metadata: { name: "old" } };
    await fixture.api.create("/api/v1/nodes", node);
    const addresses = [
      { type: "InternalIP", address: "10.0.0.7" },
      { type: "Hostname", address: "old" },
      { type: "InternalDNS", address: "old.example" },
    ];
    await fixture.api.update("/api/v1/nodes/old/status", { ...node, status: { addresses } } as typeof node);
    const adopt = (...flags: string[]) =>
      drawbridge.run("drawbridge", ["workers", "adopt", "--pool=workers", ...flags, ...access]);
    expect(await create("--names=old")).toBe(1);
    expect(printed.stderr).toContain("there is a node old already: drawbridge workers adopt old");
    expect(await adopt("old", "--dry-run")).toBe(0);
    expect(await expected()).toEqual([]);
    expect(await adopt("old")).toBe(0);
    expect(printed.stdout).toContain("old is a worker; its serving certificates are for old, old.example, 10.0.0.7\n");
    const { joined, ips } = (await inventory()).workers.get("old")!;
    expect([joined, ips]).toEqual([true, ["10.0.0.7"]]);
    expect(await adopt("stranger")).toBe(1);
    expect(printed.stderr).toContain("there is no node stranger");
  });

  test("are not guessed at when the record is broken", async () => {
    await withPool();
    await create();
    writeFileSync(join(state, "workers.json"), '{"workers": [{"name": "../x"}]}');
    expect(await drawbridge.run("drawbridge", ["workers", "list", ...access])).toBe(1);
    expect(printed.stderr).toContain("cannot be used");
  });
});
