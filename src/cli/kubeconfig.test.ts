/** Every command that takes --kubeconfig reads KUBECONFIG=a:b as kubectl does, and knows --context. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ApiStub, reply, replyStatus } from "../cluster/kube/testing/api-stub.js";
import { drawbridge } from "./commands.js";
import { keepWhatIsSaid } from "./testing/said.js";

const said = keepWhatIsSaid();
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
});

afterEach(async () => {
  vi.unstubAllEnvs();
  await cluster.close();
  rmSync(folder, { recursive: true, force: true });
});

const commands: readonly string[] = [
  "csr list --inventory=FOLDER",
  "nodepool status",
  "nodepool apply -f FOLDER/pool.yaml",
  "nodepool install --image=localhost/drawbridge:1",
  "workers doctor --state=FOLDER/workers --pool=workers",
  "hosted diff --config=FOLDER/hosted.yaml",
  "bootstrap verify --for=bare",
  "doctor --role=workstation",
];

describe.each(commands)("drawbridge %s", (line) => {
  const run = (...more: string[]) =>
    drawbridge.run("drawbridge", [...line.replaceAll("FOLDER", folder).split(" "), ...more]);

  test("merges the files of KUBECONFIG", async () => {
    vi.stubEnv("KUBECONFIG", `${first}:${join(folder, "missing")}:${second}`);
    await run();
    expect(said.stderr).not.toMatch(/ENOENT|cannot be read/);
    expect(cluster.requests.length).toBeGreaterThan(0);
    expect(cluster.requests[0]!.headers.authorization).toBe("Bearer secret");
  });

  test.skipIf(/^(hosted|bootstrap|doctor)/.test(line))("takes the context that it is given", async () => {
    vi.stubEnv("KUBECONFIG", "");
    await run(`--kubeconfig=${second}`, "--context=here");
    expect(cluster.requests.length).toBeGreaterThan(0);
  });
});
