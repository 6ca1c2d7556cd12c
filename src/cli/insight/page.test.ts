import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { collectionPath } from "../../cluster/kube/paths.js";
import { ApiStub } from "../../cluster/kube/testing/api-stub.js";
import { CollectionStub } from "../../cluster/kube/testing/collection-stub.js";
import { INVENTORY_LABEL } from "../../cluster/nodes/csr/inventory.js";
import { ApproverClusterStub } from "../../cluster/nodes/testing/cluster-stub.js";
import { signingRequest } from "../../cluster/nodes/testing/requests.js";
import type { ProvidedFacts } from "../../insight/watch/overview/overview.js";
import { captureOutput } from "../testing/output.js";
import pageCommand, { clusterProviders, openClusters } from "./page.js";

const said = captureOutput();

describe("pools in one cluster, their machines in another", () => {
  let folder: string;
  let management: ApiStub;
  let hosted: ApproverClusterStub;
  const pools = new CollectionStub(collectionPath("NodePool", "clusters"));
  const claims = new CollectionStub("/api/v1/namespaces/clusters/configmaps");
  const secrets = new CollectionStub("/api/v1/namespaces/clusters/secrets");

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "db-page-clusters-"));
    management = await ApiStub.start((request, response) => {
      const found = { nodepools: pools, configmaps: claims, secrets }[request.path.split("/").at(-1) ?? ""];
      return found?.handle(request, response);
    });
    hosted = await ApproverClusterStub.start();
  });
  afterEach(async () => {
    await Promise.all([management.close(), hosted.close()]);
    rmSync(folder, { recursive: true });
  });

  function kubeconfig(name: string, server: string): string {
    const file = join(folder, name);
    const config = {
      clusters: [{ name: "c", cluster: { server } }],
      contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
      users: [{ name: "u", user: {} }],
      "current-context": "c",
    };
    writeFileSync(file, JSON.stringify(config));
    return file;
  }

  const inventory = (name: string, text: string) => ({
    metadata: { name, labels: { [INVENTORY_LABEL]: "true" } },
    data: { "inventory.yaml": text },
  });

  test("pools and machines are each asked in their own cluster and counted together", async () => {
    const paths = [kubeconfig("management", management.url), kubeconfig("hosted", hosted.url)] as const;
    const argv = [`--kubeconfig=${paths[0]}`, `--hosted-kubeconfig=${paths[1]}`, "--namespace=clusters"];
    const invocation = pageCommand.parse(argv, {}, "drawbridge page");
    if (invocation.help !== undefined) throw new Error("help was printed");
    const flags = invocation.config;
    pools.put({ metadata: { name: "workers", namespace: "clusters" } });
    const at = new Date(Date.now() - 60_000).toISOString();
    const served = `pool: clusters/workers\nclaims: [{worker: w0, at: "${at}"}]\n`;
    claims.put(inventory("claims", served));
    const expected = ["w0", "w1"].map((name) => `{name: ${name}, notBefore: "${at}"}`).join(", ");
    hosted.configMaps.put(inventory("workers", `pool: clusters/workers\nworkers: [${expected}]\n`));
    hosted.requests.put(
      await signingRequest("client", { status: { conditions: [{ type: "Denied", status: "True" }] } }),
    );

    const clusters = await openClusters(flags);
    const providers = await clusterProviders(clusters, flags);
    const answers = await Promise.all(providers.map((provider) => provider.ask()));
    const known: ProvidedFacts["facts"] = Object.assign({}, ...answers.map(({ facts }) => facts));
    expect(known.pools).toMatchObject([{ name: "clusters/workers", workers: { expected: 2, fetched: 1, joined: 0 } }]);
    expect(known.claims).toEqual([{ pool: "clusters/workers", worker: "w0", at: Date.parse(at) }]);
    expect(known.decisions).toMatchObject([{ request: "csr-client", outcome: "denied" }]);
    expect(providers.map(({ where }) => where)).toEqual([paths[0], paths[1], paths[1]]);
    clusters.close();
  });
});

test("a hosted cluster alone is not enough: the pools are elsewhere", async () => {
  expect(await pageCommand.run("drawbridge page", ["--hosted-kubeconfig=h", "--directory=d"])).toBe(2);
  expect(said.stderr).toContain("--hosted-kubeconfig goes with --kubeconfig");
});
