/**
 * What `nodepool install` brings, running: controller, approver and Ignition server as pods of our own image on a real node,
 * under the restricted pod security standard, with the rights of their accounts. The tests are one story: they run in order
 * and build on each other.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { defaultPolicy } from "../../src/cluster/nodes/csr/request-context.js";
import { CLIENT_SIGNER, outcomeOf, type SigningRequest } from "../../src/cluster/nodes/csr/signing-request.js";
import { IGNITION_SERVER_NAME, PAYLOAD_CONFIG_MAP } from "../../src/cluster/nodes/install/render.js";
import { type Secret, secretText } from "../../src/cluster/nodes/objects.js";
import { APPROVER_NAME, CONTROLLER_NAME } from "../../src/cluster/nodes/permissions.js";
import { type BridgeLab, startBridgeLab } from "../support/lab/bridge/lab.js";
import { equipped } from "../support/lab/equipment.js";
import { must, mustSync, type Outcome } from "../support/lab/run.js";
import { until } from "../support/lab/wait.js";
import { ours } from "../support/processes/executables.js";
import { subjectOf } from "./csr-rows.js";
import { bootstrapAccess, bootstrapper, NAMESPACE, POOL, poolObjects } from "./nodes-objects.js";

const SOON = 60_000;
const ENDPOINT = "ignition.lab.test";
const PORT = 9090;
const PARTS = [CONTROLLER_NAME, APPROVER_NAME, IGNITION_SERVER_NAME];

interface Pod {
  readonly metadata: { readonly name: string; readonly deletionTimestamp?: string };
  readonly status: {
    readonly podIP?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

const ready = await equipped({ bridge: true });

describe.skipIf(!ready)("pools' parts as pods", () => {
  let lab: BridgeLab;
  /** Of worker workers-0. */
  let headers: string;

  beforeAll(async () => {
    lab = await startBridgeLab({ nodes: 1, services: true });
  });
  afterAll(() => lab?.stop());

  const asAdmin = (...args: readonly string[]): Promise<Outcome> =>
    lab.bs.run([ours("drawbridge"), ...args, `--kubeconfig=${lab.bs.adminConfig}`]);

  async function pods(part: string): Promise<Pod[]> {
    const { items } = await lab.bs.admin.json<{ items: Pod[] }>(["get", "pods", "-n", NAMESPACE, "-l", `app=${part}`]);
    return items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  }

  /** Both replicas, and no others. */
  const running = (part: string, but: readonly string[] = []): Promise<Pod[]> =>
    until(`two pods of ${part}`, 120_000, async () => {
      const found = (await pods(part)).filter(isReady).filter(({ metadata }) => !but.includes(metadata.name));
      return found.length === 2 && found;
    });

  /** Ends them at once, as when their node fails. */
  async function lose(part: string, ...names: readonly string[]): Promise<Pod[]> {
    await lab.kubectl("delete", "pod", "-n", NAMESPACE, "--grace-period=0", "--force", ...names);
    return running(part, names);
  }

  async function leaderOf(part: string): Promise<string> {
    const holder = "-ojsonpath={.spec.holderIdentity}";
    const identity = await lab.kubectl("get", "lease", "-n", NAMESPACE, part, holder);
    return identity.split("_")[0] ?? "";
  }

  const secretsOf = async (prefix: string): Promise<Secret[]> => {
    const { items } = await lab.bs.admin.json<{ items: Secret[] }>(["get", "secrets", "-n", NAMESPACE]);
    return items.filter(({ metadata }) => metadata?.name?.startsWith(prefix));
  };

  /** As a machine in the nodes' network sees it: by the published name, verified. */
  async function fetchFrom({ status }: Pod): Promise<string> {
    const [authority] = await secretsOf("drawbridge-ignition-ca");
    writeFileSync(lab.scope.file("ignition-ca.crt"), secretText(authority ?? {}, "tls.crt") ?? "");
    return must(
      [
        ...[
          "curl",
          "-sS",
          "--fail",
          "--max-time",
          "10",
          "--cacert",
          lab.scope.file("ignition-ca.crt"),
          "--config",
          "-",
        ],
        ...["--resolve", `${ENDPOINT}:${PORT}:${status.podIP}`, `https://${ENDPOINT}:${PORT}/ignition`],
      ],
      { netns: lab.nodes[0]!.netns, input: headers },
    );
  }

  const outcome = async (request: string) =>
    outcomeOf(await lab.bs.admin.json<SigningRequest>(["get", "csr", request]));

  test("two replicas of each become ready, as nobody, with a root they cannot write to", async () => {
    const flags = ["--components=controller,approver,ignition", `--image=${lab.image}`];
    const policy = ["--require-claim", "--interval=1s"].map((flag) => `--approver-flag=${flag}`);
    expect(await asAdmin("nodepool", "install", ...flags, ...policy)).toMatchObject({ code: 0, stderr: "" });
    await applyPool();
    for (const part of PARTS) {
      const [pod] = await running(part);
      const tried = 'try { fs.writeFileSync("/x", "") } catch ({ code }) { console.log(process.getuid(), code) }';
      const node = ["--", "/usr/bin/node", "-e", tried];
      expect(await lab.kubectl("exec", "-n", NAMESPACE, pod!.metadata.name, ...node)).toBe("65532 EROFS\n");
    }
    const policies = await lab.kubectl("get", "networkpolicies", "-n", NAMESPACE, "-oname");
    expect(policies.trim().split("\n").sort()).toEqual(
      PARTS.map((part) => `networkpolicy.networking.k8s.io/${part}`).sort(),
    );
  });

  test("one of the controllers leads and makes the pool's Secrets, and the other does not", async () => {
    const found = await until("the token", SOON, async () => {
      const secrets = await secretsOf(`token-${POOL}-`);
      return secrets.length > 0 && secrets;
    });
    expect(found).toHaveLength(1);
    const leader = await leaderOf(CONTROLLER_NAME);
    // What a pod says is on the node's disk a moment later.
    await until("the leader's word", SOON, () => podLog(CONTROLLER_NAME, leader).includes("this replica looks after"));
    const logs = (await pods(CONTROLLER_NAME)).map(({ metadata }) => ({
      leads: metadata.name === leader,
      saysSo: podLog(CONTROLLER_NAME, metadata.name).includes("this replica looks after"),
    }));
    expect(logs.filter(({ leads }) => leads)).toEqual([{ leads: true, saysSo: true }]);
    expect(logs.filter(({ leads }) => !leads)).toEqual([{ leads: false, saysSo: false }]);
  });

  test("either Ignition server gives a worker its payload, with the certificate that the controller issued", async () => {
    const create = ["workers", "create", `--pool=${POOL}`, "--count=2", "--own-token", "--output=json"];
    expect(await asAdmin(...create, `--state=${lab.scope.file("state")}`)).toMatchObject({ code: 0, stderr: "" });
    headers = headersOf(readFileSync(lab.scope.file("state/workers-0.ign"), "utf8"));
    for (const pod of await running(IGNITION_SERVER_NAME)) {
      const payload = await until("the payload", SOON, () => fetchFrom(pod));
      expect(payload).toContain(Buffer.from("workers-0\n").toString("base64"));
    }
  });

  test("the approver lets the worker that fetched it in, and not the other one", async () => {
    await fileRequest("first", "workers-0");
    await fileRequest("unclaimed", "workers-1");
    await until("the approval", SOON, async () => (await outcome("first")) === "approved");
    expect(await outcome("unclaimed")).toBe("pending");
    expect(await asAdmin("csr", "explain", "unclaimed", "--require-claim")).toMatchObject({
      code: 1,
      stdout: expect.stringContaining("nobody was seen fetching the configuration"),
    });
  });

  test("when the leaders are lost, other replicas go on where they stopped", async () => {
    const [controller, approver] = [await leaderOf(CONTROLLER_NAME), await leaderOf(APPROVER_NAME)];
    const servers = await pods(IGNITION_SERVER_NAME);
    const before = await secretsOf(`token-${POOL}-`);
    const [, , fresh] = await Promise.all([
      lose(CONTROLLER_NAME, controller),
      lose(APPROVER_NAME, approver),
      lose(IGNITION_SERVER_NAME, ...servers.map(({ metadata }) => metadata.name)),
    ]);
    // Payloads and tokens are made of what is in the cluster.
    for (const pod of fresh)
      expect(await until("the payload", SOON, () => fetchFrom(pod))).toContain("kubelet.service");
    expect((await secretsOf(`token-${POOL}-`)).map(tokenOf)).toEqual(before.map(tokenOf));
    // What was approved is remembered: the name is taken.
    await until("another approver", SOON, async () => ![approver, ""].includes(await leaderOf(APPROVER_NAME)));
    await fileRequest("second", "workers-0");
    await until("a decision", SOON, async () => {
      const logs = (await pods(APPROVER_NAME)).map(({ metadata }) => podLog(APPROVER_NAME, metadata.name));
      return logs.some((log) => log.includes('request="second"'));
    });
    expect(await outcome("second")).toBe("pending");
    expect(await asAdmin("csr", "explain", "second")).toMatchObject({
      stdout: expect.stringMatching(/BROKEN {2}single-client/),
    });
    // And pools are looked after.
    await lab.kubectl("patch", "configmap", "demo", "-n", NAMESPACE, "-p", '{"data":{"version":"4.18.1"}}');
    await until("another token", SOON, async () => (await secretsOf(`token-${POOL}-`)).length === 2);
    expect(await leaderOf(CONTROLLER_NAME)).not.toBe(controller);
  });

  const podLog = (part: string, pod: string) => lab.nodes[0]!.podLog(NAMESPACE, pod, part);

  async function applyPool(): Promise<void> {
    await lab.apply(...bootstrapAccess);
    const { namespace, name } = bootstrapper;
    const objects = poolObjects({
      apiServer: lab.bs.api.url,
      apiServerCA: readFileSync(lab.plane.ca.cert, "utf8"),
      ignitionEndpoint: `${ENDPOINT}:${PORT}`,
      token: (await lab.kubectl("create", "token", name, "-n", namespace, "--duration=1h")).trim(),
    });
    const recipe = stringify({ profile: "kubelet", kubelet: { clusterDns: ["10.96.0.10"] } });
    const file = lab.scope.file("pool.yaml");
    writeFileSync(file, objects.map((object) => stringify(object)).join("---\n"), { mode: 0o600 });
    await lab.apply({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: PAYLOAD_CONFIG_MAP, namespace: NAMESPACE },
      data: { "payload.yaml": recipe },
    });
    expect(await asAdmin("nodepool", "apply", "-f", file)).toMatchObject({ code: 0 });
  }

  /** As a kubelet with the bootstrap credential files it. */
  async function fileRequest(name: string, node: string): Promise<void> {
    const [key, file] = [lab.scope.file(`${name}.key`), lab.scope.file(`${name}.csr`)];
    const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
    mustSync(["openssl", "req", "-new", ...curve, "-subj", subjectOf(node), "-keyout", key, "-out", file]);
    const request = {
      apiVersion: "certificates.k8s.io/v1",
      kind: "CertificateSigningRequest",
      metadata: { name },
      spec: {
        request: readFileSync(file).toString("base64"),
        signerName: CLIENT_SIGNER,
        usages: ["digital signature", "client auth"],
      },
    };
    const as = [`--as=${defaultPolicy.bootstrapUser}`];
    await lab.bs.admin.run(["create", "-f", "-", ...as], JSON.stringify(request));
  }
});

function isReady({ status }: Pod): boolean {
  return status.conditions?.some(({ type, status: holds }) => type === "Ready" && holds === "True") === true;
}

/** Of the machine's request, as a file of curl's. */
function headersOf(userData: string): string {
  interface Pointer {
    readonly ignition: { readonly config: { readonly merge: [{ httpHeaders: { name: string; value: string }[] }] } };
  }
  const [source] = (JSON.parse(userData) as Pointer).ignition.config.merge;
  return source.httpHeaders.map(({ name, value }) => `header = "${name}: ${value}"\n`).join("");
}

const tokenOf = (secret: Secret) => secretText(secret, "token");
