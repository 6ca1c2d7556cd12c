/** Ignition servers as processes beside a real kube-apiserver, and the clients that ask them. */
import { readFileSync, writeFileSync } from "node:fs";
import type { KubeObject } from "../../src/cluster/kube/port.js";
import { pullSecretHash, trustBundleHash } from "../../src/cluster/nodes/hash/pool-hash.js";
import { encoded, type Secret } from "../../src/cluster/nodes/objects.js";
import {
  bootstrapKubeconfig,
  caPem,
  pullSecret,
  renderedMachineConfig,
} from "../../src/cluster/nodes/payload/testing/inputs.js";
import { claimRules, servingRules } from "../../src/cluster/nodes/permissions.js";
import { makeTokenSecret, type TokenSecretContent } from "../../src/cluster/nodes/token/token-secret.js";
import { Authority, type Pair } from "../support/lab/certificates.js";
import type { ControlPlane } from "../support/lab/control-plane.js";
import { LabProcess } from "../support/lab/process.js";
import { must, run } from "../support/lab/run.js";
import type { Scope } from "../support/lab/scope.js";
import { ours } from "../support/processes/executables.js";
import { freePort } from "../support/processes/ports.js";

export const NAMESPACE = "clusters-demo";
export const CLAIMS = { namespace: "drawbridge", name: "claims" };
const USER = "ignition-server";
const pool = { namespace: "clusters", name: "workers" };

export interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

export const bearer = (token: string): string => `Authorization: Bearer ${encoded(token)}`;

/** What a test changes of a healthy token Secret. */
export function tokenSecret(
  hash: string,
  token: string,
  change: Partial<TokenSecretContent> = {},
  now = Date.now(),
): Secret {
  const content: TokenSecretContent = {
    ...{ namespace: NAMESPACE, pool, hash, token, upgradeType: "InPlace" },
    ...{ releaseImage: "registry.example/release", releaseVersion: "4.18.0", rawConfig: "", stream: "rhel-9" },
    pullSecretHash: pullSecretHash(Buffer.from(pullSecret)),
    trustBundleHash: trustBundleHash(caPem),
    configurationHash: "77074ba4",
    ...change,
  };
  return makeTokenSecret(content, now);
}

function role(name: string, namespace: string, rules: readonly object[]): KubeObject[] {
  const rbac = "rbac.authorization.k8s.io";
  return [
    { apiVersion: `${rbac}/v1`, kind: "Role", metadata: { name, namespace }, rules } as KubeObject,
    {
      apiVersion: `${rbac}/v1`,
      kind: "RoleBinding",
      metadata: { name, namespace },
      roleRef: { apiGroup: rbac, kind: "Role", name },
      subjects: [{ apiGroup: rbac, kind: "User", name: USER }],
    } as KubeObject,
  ];
}

const object = (kind: string, name: string, data: object): KubeObject =>
  ({ apiVersion: "v1", kind, metadata: { name, namespace: NAMESPACE }, data }) as KubeObject;

/** What payloads are made of. */
export const ingredientObjects: readonly KubeObject[] = [
  object("Secret", "bootstrap-kubeconfig", { kubeconfig: encoded(bootstrapKubeconfig) }),
  object("Secret", "pull-secret", { ".dockerconfigjson": encoded(pullSecret) }),
  object("ConfigMap", "user-ca-bundle", { "ca-bundle.crt": caPem }),
];

const surroundings: readonly KubeObject[] = [
  ...[NAMESPACE, CLAIMS.namespace].map((name) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } })),
  ...role(USER, NAMESPACE, servingRules),
  ...role(USER, CLAIMS.namespace, claimRules(CLAIMS.name)),
  ...ingredientObjects,
];

export class IgnitionLab {
  readonly scope: Scope;
  readonly ca: Authority;
  readonly auditFile: string;
  readonly #pair: Pair;

  constructor(scope: Scope) {
    this.scope = scope;
    this.ca = new Authority(scope.folder, "ignition-root-ca");
    this.#pair = this.ca.issue({ file: "ignition", name: "ignition-server", use: "server", ips: ["127.0.0.1"] });
    this.auditFile = scope.file("audit.jsonl");
    writeFileSync(scope.file("rendered.yaml"), renderedMachineConfig);
    writeFileSync(scope.file("kubelet.yaml"), "profile: kubelet\nkubelet: {clusterDns: [10.96.0.10]}\n");
    writeFileSync(scope.file("rhcos.yaml"), "profile: rhcos\nmachineConfig: rendered.yaml\n");
  }

  /** Puts there what servers need, and gives the flags with which they use it: with the rights they ask for, and no others. */
  async joinCluster(plane: ControlPlane): Promise<string[]> {
    await plane.admin.apply(...surroundings);
    return [`--kubeconfig=${plane.kubeconfig(USER)}`, `--claims-configmap=${CLAIMS.namespace}/${CLAIMS.name}`];
  }

  /** One more replica. */
  async serve(name: string, recipe: string, flags: readonly string[]): Promise<Replica> {
    const files = [`--cert-file=${this.#pair.cert}`, `--key-file=${this.#pair.key}`];
    const replica = await this.start(name, recipe, [`--namespace=${NAMESPACE}`, ...files, ...flags]);
    await replica.process.ready("it is healthy", 60_000, async () => (await replica.ask("/healthz")).status === 200);
    return replica;
  }

  /** Without a certificate yet, and not waited for. */
  async start(name: string, recipe: string, flags: readonly string[]): Promise<Replica> {
    const port = await freePort();
    const metricsPort = await freePort();
    const process = LabProcess.start(this.scope, {
      name,
      command: [
        ours("drawbridge"),
        ...["ignition", "serve", `--payload=${this.scope.file(recipe)}`],
        ...[`--addr=127.0.0.1:${port}`, `--metrics-addr=127.0.0.1:${metricsPort}`, `--audit-log=${this.auditFile}`],
        ...flags,
      ],
    });
    return new Replica(process, this.ca.cert, port, metricsPort);
  }

  audit(): Record<string, string>[] {
    const lines = readFileSync(this.auditFile, "utf8").split("\n").filter(Boolean);
    return lines.map((line) => JSON.parse(line) as Record<string, string>);
  }
}

export class Replica {
  readonly process: LabProcess;
  readonly endpoint: string;
  readonly #caFile: string;
  readonly #metricsPort: number;

  constructor(process: LabProcess, caFile: string, port: number, metricsPort: number) {
    this.process = process;
    this.endpoint = `127.0.0.1:${port}`;
    this.#caFile = caFile;
    this.#metricsPort = metricsPort;
  }

  async ask(path: string, headers: readonly string[] = [], more: readonly string[] = []): Promise<Answer> {
    const config = headers.map((header) => `header = "${header}"\n`).join("");
    const { stdout, stderr } = await run(
      [
        ...["curl", "-sS", "--max-time", "10", "--path-as-is", "--cacert", this.#caFile, "--config", "-", ...more],
        ...["-w", "\n%{http_code} %{content_type}", `https://${this.endpoint}${path}`],
      ],
      { input: config },
    );
    const end = stdout.lastIndexOf("\n");
    const [status = "", ...type] = stdout.slice(end + 1).split(" ");
    if (status === "000") throw new Error(stderr);
    return { status: Number(status), type: type.join(" "), body: stdout.slice(0, end) };
  }

  /** Of a counter or gauge; 0 when it is not there. */
  async metric(name: string): Promise<number> {
    const text = await must(["curl", "-sS", `http://127.0.0.1:${this.#metricsPort}/metrics`]);
    const line = text.split("\n").find((each) => each.startsWith(`${name} `) || each.startsWith(`${name}{`));
    return Number(line?.split(" ").at(-1) ?? 0);
  }
}
