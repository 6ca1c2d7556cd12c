import { copyFileSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { assemble } from "../../../../image/assemble.js";
import { component, nodeExecutables } from "../equipment.js";
import { writeStandaloneKubeletConfig } from "../node/configuration.js";
import { Machine } from "../node/machine.js";
import { until } from "../wait.js";
import type { BridgeLab } from "./lab.js";

const API_IMAGE = "lab.drawbridge.test/kube-apiserver:1";
const ETC = "/etc/kubernetes";
const PKI = `${ETC}/pki`;

/** The bootstrap host as kubeadm leaves one: a kubelet that runs the kube-apiserver as a static pod. */
export interface KubeadmHost {
  /** Its `run` sees /etc/kubernetes and a /run of its own; `podLog("kube-system", "kube-apiserver-bs", ...)` its output. */
  readonly machine: Machine;
  /** What is /etc/kubernetes there, on this machine's disk. */
  readonly etc: string;
  /** The manifest of the kube-apiserver, on this machine's disk. */
  readonly manifest: string;
}

/** Ends the lab's bootstrap kube-apiserver and starts it again, same address, as a static pod under a real kubelet. */
export async function becomeKubeadmHost(lab: BridgeLab, archives: readonly string[]): Promise<KubeadmHost> {
  const { scope, bs } = lab;
  const etc = scope.file("etc-kubernetes");
  const manifests = join(etc, "manifests");
  mkdirSync(manifests, { recursive: true });
  copyPki(scope.folder, join(etc, "pki"));
  const executables = nodeExecutables();
  const machine = await Machine.start(scope, {
    ...{ name: "bs", netns: bs.netns, executables, etcKubernetes: etc },
    kubelet: (folder) => [executables.kubelet, `--config=${writeStandaloneKubeletConfig(folder, `${ETC}/manifests`)}`],
  });
  await machine.process.ready("containerd", 60_000, async () => {
    return (await machine.run(["test", "-S", "/run/containerd/containerd.sock"])).code === 0;
  });
  for (const archive of [buildApiImage(scope.file("kube-apiserver.tar")), ...archives])
    await machine.importImage(archive);
  await bs.apiServer.stop();
  const manifest = join(manifests, "kube-apiserver.yaml");
  const flags = bs.apiServer.flags().map((flag) => flag.replaceAll(scope.folder, PKI));
  // Written beside, then renamed: the kubelet reads whatever it finds, also halves.
  writeFileSync(join(etc, "kube-apiserver.yaml"), JSON.stringify(staticPod(flags, bs.address), null, 2));
  renameSync(join(etc, "kube-apiserver.yaml"), manifest);
  await until("the static pod's kube-apiserver to be ready", 150_000, () => bs.apiServer.isReady());
  return { machine, etc, manifest };
}

function copyPki(from: string, to: string): void {
  mkdirSync(to);
  for (const name of readdirSync(from).filter((file) => /\.(crt|key|pub)$/.test(file))) {
    copyFileSync(join(from, name), join(to, name));
  }
}

function buildApiImage(archive: string): string {
  const content = readFileSync(component("kube-apiserver"));
  const entries = [{ path: "usr/local/bin/kube-apiserver", mode: 0o755, content }];
  const config = { Env: ["PATH=/usr/local/bin"] };
  const layers = [{ comment: "kube-apiserver", entries }];
  return assemble({ name: API_IMAGE, layers, config, labels: {}, contents: "[]\n" }, archive).path;
}

/** In kubeadm's form: command line in one list, certificates by hostPath, probes on the API's own port. */
function staticPod(flags: readonly string[], host: string): object {
  const probe = (path: string) => ({ httpGet: { host, path, port: 6443, scheme: "HTTPS" }, periodSeconds: 1 });
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: "kube-apiserver",
      namespace: "kube-system",
      labels: { component: "kube-apiserver", tier: "control-plane" },
    },
    spec: {
      hostNetwork: true,
      priorityClassName: "system-node-critical",
      containers: [
        {
          name: "kube-apiserver",
          image: API_IMAGE,
          imagePullPolicy: "IfNotPresent",
          command: ["kube-apiserver", ...flags],
          livenessProbe: { ...probe("/livez"), initialDelaySeconds: 10, failureThreshold: 8, timeoutSeconds: 15 },
          startupProbe: { ...probe("/livez"), failureThreshold: 60, timeoutSeconds: 15 },
          volumeMounts: [{ name: "k8s-certs", mountPath: PKI, readOnly: true }],
        },
      ],
      volumes: [{ name: "k8s-certs", hostPath: { path: PKI, type: "DirectoryOrCreate" } }],
    },
  };
}
