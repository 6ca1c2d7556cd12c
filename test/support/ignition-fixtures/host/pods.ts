import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { parse } from "yaml";
import { underTest } from "../../lab/equipment.js";
import { type Answer, get } from "../../lab/http.js";
import type { Kubectl } from "../../lab/kubectl.js";
import { LabProcess } from "../../lab/process.js";
import type { Scope } from "../../lab/scope.js";
import type { BootstrapHost } from "./bootstrap-host.js";

interface Container {
  readonly image: string;
  readonly command: readonly string[];
  readonly args: readonly string[];
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
}

interface PodSpec {
  readonly containers: readonly [Container];
  readonly volumes: readonly {
    readonly name: string;
    readonly hostPath?: { readonly path: string };
    readonly secret?: { readonly secretName: string };
  }[];
}

/** The program under test that an image's command stands for. */
const programOf = ({ command }: Container): string =>
  underTest(basename(command[0]!) as "proxy-server" | "proxy-agent");

const volumeOf = (spec: PodSpec, name: string) => spec.volumes.find((volume) => volume.name === name)!;

/** Does with a static pod's file what a kubelet would: its process runs, sees its volumes, and ends with the file. */
export class StaticPod {
  readonly image: string;
  readonly process: LabProcess;

  constructor(scope: Scope, host: BootstrapHost, file: string) {
    const { spec } = parse(host.read(join("etc/kubernetes/manifests", file))) as { spec: PodSpec };
    const [container] = spec.containers;
    const binds = container.volumeMounts
      .map(({ name, mountPath }) => [volumeOf(spec, name).hostPath!.path, mountPath] as const)
      .filter(([from, to]) => from !== to);
    const [program, ...words] = host.entered([programOf(container), ...container.args], binds);
    this.image = container.image;
    this.process = LabProcess.start(scope, { name: file, netns: host.netns, command: [program as string, ...words] });
  }
}

/** Does with the DaemonSet what controller and kubelets would, in one namespace that plays a pod. */
export class AgentPod {
  readonly process: LabProcess;
  readonly #netns: string;

  private constructor(running: LabProcess, netns: string) {
    this.process = running;
    this.#netns = netns;
  }

  static async start(scope: Scope, admin: Kubectl, namespace: string, name: string, netns: string): Promise<AgentPod> {
    const daemonSet = await admin.json<{ spec: { template: { spec: PodSpec } } }>([
      "get",
      "-n",
      namespace,
      "daemonset",
      name,
    ]);
    const { spec } = daemonSet.spec.template;
    const [container] = spec.containers;
    const root = mkdtempSync(join(scope.folder, "pod-"));
    const binds: string[] = [];
    for (const { name: volume, mountPath } of container.volumeMounts) {
      const { secretName } = volumeOf(spec, volume).secret!;
      const secret = await admin.json<{ data: Record<string, string> }>(["get", "-n", namespace, "secret", secretName]);
      const folder = join(root, volume);
      mkdirSync(folder);
      for (const [key, value] of Object.entries(secret.data))
        writeFileSync(join(folder, key), Buffer.from(value, "base64"), { mode: 0o600 });
      // The image has the directory; this machine has not, and its own must not get one.
      const etc = join(root, "etc");
      mkdirSync(join(etc, basename(mountPath)), { recursive: true });
      binds.push(`mount --bind ${etc} /etc`, `mount --bind ${folder} ${mountPath}`);
    }
    const script = `set -e; ${binds.join("; ")}; exec "$@"`;
    const running = LabProcess.start(scope, {
      name: `agent-${basename(netns)}`,
      netns,
      command: ["unshare", "--mount", "bash", "-c", script, "pod", programOf(container), ...container.args],
      env: { PROXY_AGENT_ID: netns },
    });
    return new AgentPod(running, netns);
  }

  health(path: string): Promise<Answer> {
    return get(`http://127.0.0.1:2041${path}`, this.#netns);
  }
}
