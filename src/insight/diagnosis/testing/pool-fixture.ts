/** A pool in a directory with its Ignition server, healthy until a test changes it. */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { collectionPath } from "../../../cluster/kube/paths.js";
import type { KubeApi } from "../../../cluster/kube/port.js";
import { createDirectoryApi } from "../../../cluster/nodes/controller/directory.js";
import { WorkerObjects } from "../../../cluster/nodes/csr/inventory-workers.js";
import { MemoryStore } from "../../../cluster/nodes/csr/memory-store.js";
import { defaultPolicy } from "../../../cluster/nodes/csr/request-context.js";
import { CLIENT_SIGNER, REQUESTS_PATH, type SigningRequest } from "../../../cluster/nodes/csr/signing-request.js";
import { annotation, encoded, type Secret } from "../../../cluster/nodes/objects.js";
import { NODE_POOL_VERSION, type NodePool } from "../../../cluster/nodes/pool/node-pool.js";
import { NO_SHAPE } from "../../../cluster/nodes/providers/settings.js";
import { IgnitionSource } from "../../../cluster/nodes/simulate/testing/source.js";
import { makeTokenSecret } from "../../../cluster/nodes/token/token-secret.js";
import { freshUserData, makeUserDataSecret } from "../../../cluster/nodes/token/user-data.js";
import { WorkerStore } from "../../../cluster/nodes/workers/store.js";
import type { Worker } from "../../../cluster/nodes/workers/worker.js";
import { makeRequest } from "../../../tunnel/pki/testing/requests.js";
import type { PoolContext } from "../sources/pool.js";
import { examinePool } from "../workers/doctor.js";
import { withMoreKinds } from "./more-kinds.js";

export const pool = { namespace: "clusters", name: "workers" };
export const TOKEN = "0b8ad9c5-7c77-4a31-8c55-2d0a5f1c9e10";
export const HASH = "11111111";

const scratch = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

export class PoolFixture {
  readonly directory = mkdtempSync(join(scratch, "drawbridge-fixture-"));
  readonly api: KubeApi = withMoreKinds(createDirectoryApi({ directory: this.directory }));
  readonly store = new WorkerStore({
    ...{ api: this.api, namespace: pool.namespace, directory: join(this.directory, ".state") },
  });
  /** Where the machines join, when that is another cluster. */
  readonly hosted: KubeApi;
  readonly source: IgnitionSource;
  isHosted = false;
  /** How far the doctor's clock is ahead of this host's. */
  aheadMs = 0;
  readonly #isItsOwn: boolean;

  private constructor(source: IgnitionSource, isItsOwn: boolean) {
    this.source = source;
    this.#isItsOwn = isItsOwn;
    source.asked.length = 0;
    this.hosted = withMoreKinds(createDirectoryApi({ directory: mkdtempSync(join(this.directory, ".hosted-")) }));
    // As a server that knows no token but has payloads.
    source.answer = (_, response) => response.writeHead(511).end();
  }

  /** `source`: a server that outlives it. */
  static async open(source?: IgnitionSource): Promise<PoolFixture> {
    const fixture = new PoolFixture(source ?? (await IgnitionSource.start()), source === undefined);
    await fixture.#create();
    return fixture;
  }

  close(): void {
    if (this.#isItsOwn) this.source.close();
    rmSync(this.directory, { recursive: true, force: true });
  }

  get context(): PoolContext {
    const nodes = this.isHosted ? this.hosted : this.api;
    return {
      clusters: { pools: this.api, nodes },
      isHosted: this.isHosted,
      store: this.store,
      policy: defaultPolicy,
      inventory: new WorkerObjects(this.api, pool.namespace).expected,
      memory: () => new MemoryStore(nodes, { namespace: "drawbridge", name: "approver" }),
      now: () => Date.now() + this.aheadMs,
    };
  }

  findings(...names: readonly string[]) {
    return examinePool(this.context, pool, names);
  }

  /** Only the findings with a code. */
  async problems(...names: readonly string[]) {
    return (await this.findings(...names)).filter(({ code }) => code !== undefined);
  }

  /** With user data of now. */
  async worker(name: string, change: Partial<Worker> = {}): Promise<Worker> {
    const worker: Worker = {
      ...{
        name,
        pool: "clusters/workers",
        zone: "",
        provider: "none",
        shape: NO_SHAPE,
        hash: HASH,
        ips: [],
        made: true,
      },
      notBefore: new Date(Date.now() - 60_000).toISOString(),
      deadline: new Date(Date.now() + 3_600_000).toISOString(),
      ...{ ownToken: false, createCommand: [], deleteCommand: [], ...change },
    };
    await this.store.create([worker]);
    await this.store.writeUserData(name, (await freshUserData(this.api, worker)).text);
    return worker;
  }

  secret(name: string): Promise<Secret> {
    return this.api.get(`${collectionPath("Secret", pool.namespace)}/${name}`);
  }

  async changeSecret(name: string, change: (secret: Secret) => Secret): Promise<void> {
    const path = `${collectionPath("Secret", pool.namespace)}/${name}`;
    await this.api.update(path, change(await this.api.get<Secret>(path)));
  }

  /** `change`: what differs from a kubelet's first request. */
  async file(
    name: string,
    node: string,
    change: NonNullable<SigningRequest["spec"]> & { commonName?: string } = {},
  ): Promise<void> {
    const { commonName = `system:node:${node}`, ...spec } = change;
    const subject = [{ O: ["system:nodes"] }, { CN: [commonName] }];
    const request: SigningRequest = {
      apiVersion: "certificates.k8s.io/v1",
      kind: "CertificateSigningRequest",
      metadata: { name },
      spec: {
        request: Buffer.from(await makeRequest({ subject })).toString("base64"),
        signerName: CLIENT_SIGNER,
        usages: ["digital signature", "client auth"],
        username: defaultPolicy.bootstrapUser,
        groups: [...defaultPolicy.bootstrapGroups],
        ...spec,
      },
    };
    await this.api.create(REQUESTS_PATH, request);
  }

  async #create(): Promise<void> {
    const ignitionEndpoint = new URL(this.source.url("/")).host;
    const ignitionCaPem = this.source.authority.certificatePem;
    const content = { pool, hash: HASH, token: TOKEN };
    const token = makeTokenSecret(
      {
        ...{ ...content, namespace: pool.namespace, upgradeType: "InPlace", rawConfig: "", stream: "rhel-9" },
        ...{ releaseImage: "registry.example/release", releaseVersion: "4.18.0", configurationHash: "77074ba4" },
        ...{ pullSecretHash: "", trustBundleHash: "" },
      },
      Date.now(),
    );
    const object: NodePool = {
      apiVersion: NODE_POOL_VERSION,
      kind: "NodePool",
      metadata: { ...pool, annotations: { [annotation.currentConfigVersion]: HASH } },
      spec: { clusterName: "demo" },
    };
    await this.api.create(collectionPath("NodePool", pool.namespace), object);
    const secrets = collectionPath("Secret", pool.namespace);
    await this.api.create(secrets, { ...token, data: { ...token.data, reason: encoded("AsExpected") } });
    await this.api.create(secrets, makeUserDataSecret(pool.namespace, { ...content, ignitionEndpoint, ignitionCaPem }));
  }
}
