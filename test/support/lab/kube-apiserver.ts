import type { Pair } from "./certificates.js";
import { LabProcess } from "./process.js";
import { run } from "./run.js";
import type { Scope } from "./scope.js";

export interface ApiServerOptions {
  readonly name: string;
  readonly executable: string;
  readonly etcdUrl: string;
  readonly netns?: string | undefined;
  readonly host: string;
  readonly port: number;
  readonly ca: Pair;
  readonly frontProxyCa: Pair;
  readonly pairs: { readonly serving: Pair; readonly kubelet: Pair; readonly aggregator: Pair; readonly admin: Pair };
  readonly serviceAccounts: { readonly privateKey: string; readonly publicKey: string };
  /** Without a controller manager nobody makes the service accounts that this admission plugin asks for. */
  readonly admitServiceAccounts: boolean;
  readonly admissionPlugins: readonly string[];
}

/** A real kube-apiserver that can be ended and started again with another egress configuration; etcd keeps the state. */
export class KubeApiServer {
  readonly #scope: Scope;
  readonly #options: ApiServerOptions;
  #process: LabProcess | undefined;

  constructor(scope: Scope, options: ApiServerOptions) {
    this.#scope = scope;
    this.#options = options;
  }

  get url(): string {
    return `https://${this.#options.host}:${this.#options.port}`;
  }

  get process(): LabProcess {
    if (this.#process === undefined) throw new Error("the kube-apiserver has not been started");
    return this.#process;
  }

  async start(egressConfigFile?: string): Promise<void> {
    await this.stop();
    this.#process = LabProcess.start(this.#scope, {
      name: this.#options.name,
      netns: this.#options.netns,
      command: [this.#options.executable, ...this.flags(), ...egressFlag(egressConfigFile)],
    });
    await this.#process.ready("ready", 120_000, () => this.isReady());
  }

  /** Killed, not asked: a graceful end waits for watches, and the state is safe in etcd. */
  async stop(): Promise<void> {
    await this.#process?.kill();
  }

  async isReady(): Promise<boolean> {
    const { ca, netns, pairs } = this.#options;
    const client = ["--cacert", ca.cert, "--cert", pairs.admin.cert, "--key", pairs.admin.key];
    const answer = await run(["curl", "-s", "--max-time", "2", ...client, `${this.url}/readyz`], { netns });
    return answer.stdout === "ok";
  }

  /** All but the egress configuration. */
  flags(): string[] {
    return apiServerFlags(this.#options);
  }
}

/** All but the egress configuration. */
export function apiServerFlags(options: Omit<ApiServerOptions, "name" | "executable" | "netns">): string[] {
  const { etcdUrl, host, port, ca, frontProxyCa, pairs, serviceAccounts, admitServiceAccounts, admissionPlugins } =
    options;
  return [
    `--etcd-servers=${etcdUrl}`,
    `--bind-address=${host}`,
    `--advertise-address=${host}`,
    `--secure-port=${port}`,
    // The address of a lab on loopback may not stand in an Endpoints object.
    ...(host.startsWith("127.") ? ["--endpoint-reconciler-type=none"] : []),
    "--service-cluster-ip-range=10.96.0.0/16",
    "--authorization-mode=Node,RBAC",
    `--client-ca-file=${ca.cert}`,
    `--tls-cert-file=${pairs.serving.cert}`,
    `--tls-private-key-file=${pairs.serving.key}`,
    "--service-account-issuer=https://kubernetes.default.svc",
    `--service-account-key-file=${serviceAccounts.publicKey}`,
    `--service-account-signing-key-file=${serviceAccounts.privateKey}`,
    ...(admitServiceAccounts ? [] : ["--disable-admission-plugins=ServiceAccount"]),
    ...(admissionPlugins.length === 0 ? [] : [`--enable-admission-plugins=${admissionPlugins.join(",")}`]),
    // Services of the lab have no kube-proxy: let the kube-apiserver dial endpoints instead of cluster addresses.
    "--enable-aggregator-routing=true",
    `--proxy-client-cert-file=${pairs.aggregator.cert}`,
    `--proxy-client-key-file=${pairs.aggregator.key}`,
    `--requestheader-client-ca-file=${frontProxyCa.cert}`,
    "--requestheader-username-headers=X-Remote-User",
    "--requestheader-group-headers=X-Remote-Group",
    "--requestheader-extra-headers-prefix=X-Remote-Extra-",
    `--kubelet-certificate-authority=${ca.cert}`,
    `--kubelet-client-certificate=${pairs.kubelet.cert}`,
    `--kubelet-client-key=${pairs.kubelet.key}`,
    "--kubelet-preferred-address-types=InternalIP",
    "--allow-privileged=true",
    "--profiling=false",
  ];
}

function egressFlag(file: string | undefined): string[] {
  return file === undefined ? [] : [`--egress-selector-config-file=${file}`];
}
