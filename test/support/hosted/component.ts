import { readFileSync } from "node:fs";
import type { BridgeLab } from "../lab/bridge/lab.js";
import { until } from "../lab/wait.js";

interface ProxyInPod {
  readonly kind: "http" | "socks5";
  readonly port: number;
}

/** A part of the control plane that reaches the hosted cluster through sidecars: a stand-in with the rendered patch. */
export class Component {
  readonly #lab: BridgeLab;
  readonly #namespace: string;
  readonly #name: string;

  private constructor(lab: BridgeLab, namespace: string, name: string) {
    this.#lab = lab;
    this.#namespace = namespace;
    this.#name = name;
  }

  /** `rendered` is a folder that `hosted render --out` wrote. Its pods are started, not waited for. */
  static async start(
    lab: BridgeLab,
    namespace: string,
    name: string,
    rendered: string,
    options: ComponentOptions = {},
  ): Promise<Component> {
    const {
      hosted = { adminConfig: lab.bs.adminConfig, url: lab.bs.api.url },
      replicas = 1,
      graceSeconds = 1,
    } = options;
    await lab.apply(kubeconfigSecret(hosted, namespace), standIn(lab.image, namespace, name, graceSeconds));
    const patch = ["--type=strategic", `--patch-file=${rendered}/patches/${name}.yaml`];
    await lab.kubectl("patch", "deployment", name, "-n", namespace, ...patch);
    await lab.kubectl("scale", "deployment", name, "-n", namespace, `--replicas=${replicas}`);
    return new Component(lab, namespace, name);
  }

  /** What comes back from an HTTPS GET that its own container makes by a proxy in its pod; `from`: one pod of several. */
  async get(proxy: ProxyInPod, host: string, path: string, from = `deployment/${this.#name}`) {
    const program = readFileSync(new URL("./get-by-proxy.mjs", import.meta.url), "utf8");
    const node = ["/usr/bin/node", "--input-type=module", "-e", program];
    const words = [proxy.kind, String(proxy.port), host, path];
    const place = ["-n", this.#namespace, from, "-c", this.#name];
    return this.#lab.kubectl("exec", ...place, "--", ...node, ...words);
  }

  /** Tells its pod to end, which its own container takes the whole time for. Resolves to the pod once it was told. */
  async end(): Promise<string> {
    const place = ["-n", this.#namespace];
    const pod = (await this.#lab.kubectl("get", "pods", ...place, "-l", `app=${this.#name}`, "-oname")).trim();
    await this.#lab.kubectl("delete", ...place, pod, "--grace-period=30", "--wait=false");
    const told = `involvedObject.name=${pod.replace("pod/", "")},reason=Killing`;
    await until(`the containers of ${pod} to be told`, 30_000, async () => {
      const events = await this.#lab.kubectl("get", "events", ...place, `--field-selector=${told}`, "-oname");
      return events.trim().split("\n").length === 3;
    });
    return pod;
  }

  async rolledOut(): Promise<void> {
    const place = ["-n", this.#namespace, "--timeout=110s"];
    await this.#lab.kubectl("rollout", "status", `deployment/${this.#name}`, ...place);
  }
}

const KUBECONFIG = "hosted-kubeconfig";

export interface ComponentOptions {
  /** How its pods are administrators of the hosted cluster, if that is not the lab's own. */
  readonly hosted?: HostedAccess;
  readonly replicas?: number;
  readonly graceSeconds?: number;
}

interface HostedAccess {
  /** A kubeconfig that names files. */
  readonly adminConfig: string;
  /** The hosted kube-apiserver, as pods reach it. */
  readonly url: string;
}

/** With everything in it: a pod has none of the lab's files. */
function kubeconfigSecret({ adminConfig, url }: HostedAccess, namespace: string): object {
  const config = JSON.parse(readFileSync(adminConfig, "utf8"));
  const user = config.users[0].user as Record<string, string>;
  const cluster = config.clusters[0].cluster as Record<string, string>;
  const data = (file: string | undefined) => readFileSync(file ?? "").toString("base64");
  config.clusters[0].cluster = { server: url, "certificate-authority-data": data(cluster["certificate-authority"]) };
  config.users[0].user = {
    "client-certificate-data": data(user["client-certificate"]),
    "client-key-data": data(user["client-key"]),
  };
  const metadata = { name: KUBECONFIG, namespace };
  return { apiVersion: "v1", kind: "Secret", metadata, stringData: { kubeconfig: JSON.stringify(config) } };
}

function standIn(image: string, namespace: string, name: string, terminationGracePeriodSeconds: number): object {
  const labels = { app: name };
  const resources = { requests: { cpu: "50m" } };
  const container = { name, image, command: ["/usr/bin/node", "-e", "setInterval(() => {}, 1e9)"], resources };
  const volumes = [{ name: "kubeconfig", secret: { secretName: KUBECONFIG } }];
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace },
    spec: {
      // Until it is patched.
      replicas: 0,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { terminationGracePeriodSeconds, containers: [container], volumes },
      },
    },
  };
}
