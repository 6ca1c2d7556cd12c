/**
 * Machines that are played, all in this one process: each fetches by its user data, asks for its certificates, and registers its
 * Node, with the bytes and certificates that it gets checked. The process does one task after another, as its parent says.
 */
import { createHash, createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { createKubeApi } from "../../src/cluster/kube/client.js";
import { kubeconfigEndpoint } from "../../src/cluster/kube/kubeconfig/endpoint.js";
import { ListWatch } from "../../src/cluster/kube/list-watch.js";
import type { KubeApi, KubeObject } from "../../src/cluster/kube/port.js";
import {
  CLIENT_SIGNER,
  REQUESTS_PATH,
  SERVING_SIGNER,
  type SigningRequest,
} from "../../src/cluster/nodes/csr/signing-request.js";
import { nodePath } from "../../src/cluster/nodes/workers/node.js";
import { makeSigningRequest } from "../../src/tunnel/pki/issue.js";
import { fetchConfig } from "../../test/e2e/workers-machines.js";

export interface Setting {
  readonly server: string;
  readonly ca: string;
  /** The kubeconfig that machines find in their payload, as a file. */
  readonly bootstrapConfig: string;
  readonly machines: readonly { readonly name: string; readonly address: string; readonly userData: string }[];
}

/** How long each took, and what is wrong; the last task fetches once more, with tokens that must have ended. */
export interface Played {
  readonly seconds: number;
  readonly errors: readonly string[];
  /** What was sent to the API server or the Ignition server. */
  readonly requests: number;
}

export const TASKS = ["prepare", "fetch", "join", "fetch again"] as const;

type Pair = Awaited<ReturnType<typeof makeSigningRequest>>;

interface Machine {
  readonly name: string;
  readonly address: string;
  readonly pointer: Parameters<typeof fetchConfig>[0];
  readonly client: Pair;
  readonly serving: Pair;
  /** Requests that its holder would like to have approved as well. */
  readonly forged: readonly { readonly name: string; readonly signer: string; readonly pair: Pair }[];
}

/** As many as an API server works on at once by default. */
const API_CALLS_AT_ONCE = 100;
const GIVE_UP_MS = 540_000;
/** Of so many machines one forges. */
const ONE_FORGES_OF = 100;
const GROUP = "system:nodes";

class Crowd {
  readonly #setting: Setting;
  readonly #bootstrapper: KubeApi;
  readonly #authority: X509Certificate;
  readonly #requests: ListWatch<SigningRequest>;
  readonly #waiting = new Map<string, (certificate: string) => void>();
  readonly #slots = new Slots(API_CALLS_AT_ONCE);
  #machines: readonly Machine[] = [];
  #sent = 0;

  private constructor(setting: Setting, bootstrapper: KubeApi) {
    this.#setting = setting;
    this.#bootstrapper = bootstrapper;
    this.#authority = new X509Certificate(setting.ca);
    // Kubelets watch one request each; one watch of all spares the API server four thousand.
    this.#requests = new ListWatch<SigningRequest>({ api: bootstrapper, path: REQUESTS_PATH });
  }

  static async gather(setting: Setting): Promise<Crowd> {
    const endpoint = await kubeconfigEndpoint(setting.bootstrapConfig);
    return new Crowd(setting, createKubeApi(endpoint, { qps: -1 }));
  }

  async play(task: (typeof TASKS)[number]): Promise<Played> {
    const began = performance.now();
    const before = this.#sent;
    const errors = await { prepare: this.#prepare, fetch: this.#fetch, join: this.#join, "fetch again": this.#refetch }[
      task
    ].call(this);
    return { seconds: (performance.now() - began) / 1000, errors, requests: this.#sent - before };
  }

  async close(): Promise<void> {
    await this.#requests.stop();
    this.#bootstrapper.close();
  }

  async #prepare(): Promise<string[]> {
    const { machines } = this.#setting;
    this.#machines = await Promise.all(
      machines.map(async ({ address, name, userData }, index) => {
        const subject = { commonName: `system:node:${name}`, organizations: [GROUP] };
        const [client, serving] = await Promise.all([
          makeSigningRequest(subject),
          makeSigningRequest({ ...subject, dnsNames: [name], ipAddresses: [address] }),
        ]);
        const victim = machines[(index + 1) % machines.length]!;
        const forged = index % ONE_FORGES_OF === 0 ? await forgeries(name, victim) : [];
        return { name, address, client, serving, forged, pointer: JSON.parse(readFileSync(userData, "utf8")) };
      }),
    );
    return [];
  }

  /** Each over a connection of its own. All get the same but for their name. */
  async #fetch(): Promise<string[]> {
    const digests = new Set<string>();
    const errors = await each(this.#machines, async ({ name, pointer }) => {
      const body = await this.#fetched(pointer);
      const { storage } = JSON.parse(body) as { storage: { files: { path: string; contents: { source: string } }[] } };
      const hostname = storage.files.find(({ path }) => path === "/etc/hostname")?.contents.source ?? "";
      const own = Buffer.from(hostname.split(",")[1] ?? "", "base64").toString();
      if (own !== `${name}\n`) throw new Error(`${name} was told to be called ${JSON.stringify(own)}`);
      digests.add(createHash("sha256").update(body.replaceAll(hostname, "")).digest("hex"));
    });
    return digests.size <= 1 ? errors : [...errors, `${digests.size} different payloads were sent`];
  }

  async #fetched(pointer: Machine["pointer"]): Promise<string> {
    const until = performance.now() + GIVE_UP_MS;
    for (;;) {
      this.#sent += 1;
      const { body, status } = await fetchConfig(pointer);
      if (status === 200) return body;
      if (performance.now() > until) throw new Error(`the last answer was ${status}`);
      await sleep(500);
    }
  }

  async #refetch(): Promise<string[]> {
    return each(this.#machines, async ({ name, pointer }) => {
      const status = await this.#answerTo(pointer);
      if (status !== 511) throw new Error(`${name} is Ready, and its token was answered with ${status}`);
    });
  }

  /** Of the first attempt that is answered. */
  async #answerTo(pointer: Machine["pointer"], attempts = 10): Promise<number> {
    this.#sent += 1;
    const { status } = await fetchConfig(pointer);
    return status > 0 || attempts === 1 ? status : this.#answerTo(pointer, attempts - 1);
  }

  async #join(): Promise<string[]> {
    this.#requests.start();
    const look = setInterval(() => this.#look(), 100);
    const errors = await each(this.#machines, (machine) => this.#joinOne(machine));
    clearInterval(look);
    return errors;
  }

  async #joinOne({ address, client, forged, name, serving }: Machine): Promise<void> {
    const bootstrapper = this.#bootstrapper;
    for (const { name: request, pair, signer } of forged.filter(({ signer }) => signer === CLIENT_SIGNER)) {
      await this.#file(bootstrapper, request, signer, pair);
    }
    const cert = await this.#certificate(bootstrapper, `csr-${name}`, CLIENT_SIGNER, client);
    this.#check(cert, client, name);
    const { ca, server } = this.#setting;
    const credentials = async () => ({ headers: {}, tls: { ca, cert, key: client.privateKeyPem } });
    const node = createKubeApi({ server, credentials }, { qps: -1 });
    try {
      await this.#register(node, name, address);
      for (const { name: request, pair, signer } of forged.filter(({ signer }) => signer === SERVING_SIGNER)) {
        await this.#file(node, request, signer, pair);
      }
      await this.#file(node, `csr-${name}-serving`, SERVING_SIGNER, serving);
    } finally {
      node.close();
    }
    const served = this.#check(await this.#issued(`csr-${name}-serving`), serving, name);
    if (served.checkIP(address) === undefined) throw new Error(`${name} got a certificate without its address`);
  }

  async #register(api: KubeApi, name: string, address: string): Promise<void> {
    const node = { apiVersion: "v1", kind: "Node", metadata: { name } };
    const made = await this.#call(() => api.create<KubeObject>("/api/v1/nodes", node));
    const ready = { type: "Ready", status: "True", reason: "KubeletReady", message: "posting ready status" };
    const status = {
      conditions: [ready],
      addresses: [
        { type: "Hostname", address: name },
        { type: "InternalIP", address },
      ],
    };
    await this.#call(() => api.update(`${nodePath(name)}/status`, { ...made, status } as KubeObject));
  }

  async #certificate(api: KubeApi, name: string, signer: string, pair: Pair): Promise<string> {
    await this.#file(api, name, signer, pair);
    return this.#issued(name);
  }

  #file(api: KubeApi, name: string, signerName: string, { requestPem }: Pair): Promise<unknown> {
    const usages = ["digital signature", signerName === CLIENT_SIGNER ? "client auth" : "server auth"];
    const spec = { request: Buffer.from(requestPem).toString("base64"), signerName, usages };
    const kind = { apiVersion: "certificates.k8s.io/v1", kind: "CertificateSigningRequest" };
    return this.#call(() => api.create<SigningRequest>(REQUESTS_PATH, { ...kind, metadata: { name }, spec }));
  }

  #call<T>(run: () => Promise<T>): Promise<T> {
    this.#sent += 1;
    return this.#slots.run(run);
  }

  #issued(name: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error(`${name} has no certificate`)), GIVE_UP_MS);
      this.#waiting.set(name, (certificate) => {
        clearTimeout(late);
        resolve(Buffer.from(certificate, "base64").toString());
      });
    });
  }

  #look(): void {
    for (const [name, resolve] of this.#waiting) {
      const certificate = this.#requests.items.get(`/${name}`)?.status?.certificate;
      if (certificate === undefined) continue;
      this.#waiting.delete(name);
      resolve(certificate);
    }
  }

  #check(pem: string, { privateKeyPem }: Pair, name: string): X509Certificate {
    const certificate = new X509Certificate(pem);
    const isItsOwn = certificate.toLegacyObject().subject.CN === `system:node:${name}`;
    const isSigned = certificate.verify(this.#authority.publicKey);
    if (isItsOwn && isSigned && certificate.checkPrivateKey(createPrivateKey(privateKeyPem))) return certificate;
    throw new Error(`${name} got a certificate that is not its own: ${certificate.subject}`);
  }
}

/** What a machine's holder may file and must not get. */
async function forgeries(name: string, victim: Setting["machines"][number]): Promise<Machine["forged"]> {
  const subject = { commonName: `system:node:${name}`, organizations: [GROUP] };
  const all = {
    masters: { ...subject, organizations: [GROUP, "system:masters"] },
    stranger: { ...subject, commonName: `system:node:intruder-${name}` },
    address: { ...subject, dnsNames: [name], ipAddresses: [victim.address] },
  };
  return Promise.all(
    Object.entries(all).map(async ([what, asked]) => ({
      name: `forged-${what}-${name}`,
      signer: what === "address" ? SERVING_SIGNER : CLIENT_SIGNER,
      pair: await makeSigningRequest(asked),
    })),
  );
}

/** All at once; the sentences of those that failed. */
async function each<T>(items: readonly T[], run: (item: T) => Promise<void>): Promise<string[]> {
  const results = await Promise.allSettled(items.map(run));
  return results.flatMap((result) => (result.status === "rejected" ? [String(result.reason)] : []));
}

class Slots {
  #free: number;
  readonly #queue: (() => void)[] = [];

  constructor(size: number) {
    this.#free = size;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#queue.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#queue.shift();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }
}

process.once("message", async (setting: Setting) => {
  const crowd = await Crowd.gather(setting);
  for (const task of TASKS) {
    process.send?.(await crowd.play(task));
    if (task !== TASKS.at(-1)) await new Promise((resolve) => process.once("message", resolve));
  }
  await crowd.close();
  process.disconnect();
});
