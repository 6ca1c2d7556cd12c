/** Every command that takes --kubeconfig reads KUBECONFIG=a:b as kubectl does, and knows --context. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { eventually } from "../base/testing/eventually.js";
import { ApiStub, reply, replyStatus } from "../cluster/kube/testing/api-stub.js";
import { drawbridge } from "./commands.js";
import { captureOutput } from "./testing/output.js";

const printed = captureOutput();
let cluster: ApiStub;
let folder: string;
let first: string;
let second: string;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "db-kubeconfig-"));
  cluster = await ApiStub.start(({ method, path }, response) => {
    const isList = method === "GET" && /s$/.test(path);
    if (isList) reply(response, 200, { kind: "List", metadata: { resourceVersion: "1" }, items: [] });
    else replyStatus(response, 404, "NotFound", "there is no such object");
  });
  first = join(folder, "first");
  second = join(folder, "second");
  // The first file says which context is current, the second has all that it refers to.
  writeFileSync(first, JSON.stringify({ "current-context": "here" }));
  writeFileSync(
    second,
    JSON.stringify({
      clusters: [
        { name: "lab", cluster: { server: cluster.url } },
        { name: "nowhere", cluster: { server: "http://127.0.0.1:1" } },
      ],
      contexts: [
        { name: "here", context: { cluster: "lab", user: "me" } },
        { name: "there", context: { cluster: "nowhere", user: "me" } },
      ],
      users: [{ name: "me", user: { token: "secret" } }],
      "current-context": "there",
    }),
  );
  writeFileSync(
    join(folder, "pool.yaml"),
    "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: a, namespace: drawbridge }\n",
  );
  writeFileSync(
    join(folder, "hosted.yaml"),
    "name: demo\npublishing: { type: LoadBalancer, address: 192.0.2.1 }\nconnectionChecker: false\n",
  );

  // Empty: a mistake in it could end the command before its first request.
  mkdirSync(join(folder, "inventory"));
  mkdirSync(join(folder, "drawbridge"), { mode: 0o700 });
  const record = {
    version: 1,
    options: {
      for: "bare",
      serverAddresses: ["192.0.2.1"],
      configDirectory: join(folder, "drawbridge-etc"),
      runtimeDirectory: join(folder, "drawbridge-run"),
    },
    ...{ kubeconfig: "/none", setting: { by: "hand" }, madeAt: "2031-01-02T03:04:05Z", opened: [] },
  };
  writeFileSync(join(folder, "drawbridge/bridge.json"), JSON.stringify(record), { mode: 0o600 });
});

afterEach(async () => {
  vi.unstubAllEnvs();
  await cluster.close();
  rmSync(folder, { recursive: true, force: true });
});

interface Row {
  readonly line: string;
  /** Why the command does not read KUBECONFIG. */
  readonly without?: string;
}

const BRIDGE = "--address=192.0.2.1 --config-directory=FOLDER/drawbridge-etc --runtime-directory=FOLDER/drawbridge-run";

const commands: readonly Row[] = [
  { line: "csr approve csr-1 --inventory=FOLDER/inventory" },
  { line: "csr approver --inventory=FOLDER/inventory --dry-run" },
  { line: "csr explain csr-1 --inventory=FOLDER/inventory" },
  { line: "csr list --inventory=FOLDER/inventory" },
  { line: "ignition preview current --pool=workers" },
  { line: "nodepool apply -f FOLDER/pool.yaml" },
  { line: "nodepool controller" },
  { line: "nodepool install --image=localhost/drawbridge:1" },
  { line: "nodepool status" },
  { line: "workers create --state=FOLDER/workers --pool=workers" },
  { line: "workers doctor --state=FOLDER/workers --pool=workers" },
  { line: "workers scale --state=FOLDER/workers --pool=workers --count=1 --timeout=100ms" },
  { line: "workers up --state=FOLDER/workers --pool=workers --timeout=100ms" },
  { line: "hosted apply --config=FOLDER/hosted.yaml" },
  { line: "hosted delete --config=FOLDER/hosted.yaml" },
  { line: "hosted diff --config=FOLDER/hosted.yaml" },
  { line: "hosted render --config=FOLDER/hosted.yaml", without: "it asks a cluster only when a flag names one" },
  { line: "hosted status --config=FOLDER/hosted.yaml" },
  { line: "hosted verify --config=FOLDER/hosted.yaml" },
  // It stops before it makes anything: the record's directory does not exist.
  { line: `bootstrap up --for-platform=bare ${BRIDGE} --state-dir=FOLDER/none/drawbridge` },
  { line: "bootstrap status --state-dir=FOLDER/drawbridge", without: "it uses what up recorded" },
  { line: "bootstrap teardown --dir=FOLDER --timeout=5s", without: "--dir has a kubeconfig of its own" },
  { line: "bootstrap gather --out=FOLDER/gathered.tar.gz" },
  { line: "bootstrap verify --for=bare" },
  { line: "doctor --role=workstation" },
];

describe.each(commands)("drawbridge $line", ({ line, without }) => {
  async function run(...more: string[]): Promise<void> {
    const words = [...line.replaceAll("FOLDER", folder).split(" "), ...more];
    let isRunning = true;
    const ended = drawbridge.run("drawbridge", words).finally(() => {
      isRunning = false;
    });
    // These run until they get a signal.
    if (/^(csr approver|nodepool controller)/.test(line)) {
      await eventually(() => expect(cluster.requests.length > 0 || !isRunning).toBe(true));
      process.emit("SIGTERM");
    }
    await ended;
  }

  test.skipIf(without !== undefined)("merges the files of KUBECONFIG", async () => {
    vi.stubEnv("KUBECONFIG", `${first}:${join(folder, "missing")}:${second}`);
    await run();
    expect(printed.stderr).not.toMatch(/ENOENT|cannot be read/);
    expect(cluster.requests[0]?.headers.authorization).toBe("Bearer secret");
  });

  test("merges several files of --kubeconfig", async () => {
    vi.stubEnv("KUBECONFIG", "");
    await run(`--kubeconfig=${[first, second].map((file) => relative(process.cwd(), file)).join(":")}`);
    expect(cluster.requests[0]?.headers.authorization).toBe("Bearer secret");
  });

  test("uses the context of --context", async () => {
    vi.stubEnv("KUBECONFIG", "");
    await run(`--kubeconfig=${second}`, "--context=here");
    expect(cluster.requests[0]?.headers.authorization).toBe("Bearer secret");
  });
});
