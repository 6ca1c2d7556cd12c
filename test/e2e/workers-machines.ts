/** Machines without a kubelet: they fetch their configuration, ask for a certificate, register and run pods as one would. */

import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import { isConflict, isNotFound } from "../../src/cluster/kube/errors.js";
import type { KubeApi, KubeObject } from "../../src/cluster/kube/port.js";
import { CLIENT_SIGNER } from "../../src/cluster/nodes/csr/signing-request.js";
import type { Node } from "../../src/cluster/nodes/objects.js";
import { type NodePod, nodePath, podPath } from "../../src/cluster/nodes/workers/node.js";
import { file, type Lab } from "./csr-lab.js";
import { CLIENT, subjectOf } from "./csr-rows.js";

const OFTEN = 150;

interface Pointer {
  readonly ignition: {
    readonly config: {
      readonly merge: readonly [
        { readonly source: string; readonly httpHeaders: readonly { readonly name: string; readonly value: string }[] },
      ];
    };
    readonly security: { readonly tls: { readonly certificateAuthorities: readonly [{ readonly source: string }] } };
  };
}

/** A machine runs for as long as a file of its name, its user data, is in the folder. */
export class Hypervisor {
  /** What each got from the Ignition server. */
  readonly payloads = new Map<string, string>();
  /** Whose kubelet complains. */
  readonly broken = new Set<string>();
  readonly #lab: Lab;
  readonly #folder: string;
  readonly #bootstrapper: KubeApi;
  readonly #running = new Map<string, Promise<void>>();
  readonly #failures: unknown[] = [];
  #isOn = true;

  constructor(lab: Lab, folder: string, bootstrapper: KubeApi) {
    this.#lab = lab;
    this.#folder = folder;
    this.#bootstrapper = bootstrapper;
  }

  /** Until it is switched off. */
  async run(): Promise<void> {
    while (this.#isOn) {
      for (const name of readdirSync(this.#folder)) {
        if (this.#running.has(name)) continue;
        this.#running.set(
          name,
          this.#boot(name).catch((reason) => void this.#failures.push(reason)),
        );
      }
      await sleep(OFTEN);
    }
    await Promise.all(this.#running.values());
  }

  /** Rejects with what went wrong in a machine, if anything did. */
  switchOff(): void {
    this.#isOn = false;
    if (this.#failures.length > 0) throw this.#failures[0];
  }

  #lives(name: string): boolean {
    return this.#isOn && existsSync(`${this.#folder}/${name}`);
  }

  async #boot(name: string): Promise<void> {
    const pointer = JSON.parse(readFileSync(`${this.#folder}/${name}`, "utf8")) as Pointer;
    for (let answer = { status: 0, body: "" }; answer.status !== 200 && this.#lives(name); await sleep(OFTEN)) {
      answer = await fetchConfig(pointer);
      if (answer.status === 200) this.payloads.set(name, answer.body);
    }
    const pem = this.#lab.request(subjectOf(name));
    await file(this.#bootstrapper, { name: `csr-${name}`, pem, signerName: CLIENT_SIGNER, usages: CLIENT });
    let certificate: string | undefined;
    for (; certificate === undefined && this.#lives(name); await sleep(OFTEN)) {
      certificate = (await this.#lab.find(`csr-${name}`)).status?.certificate;
    }
    if (certificate === undefined) return;
    const cert = this.#lab.scope.file(`${name}.crt`);
    writeFileSync(cert, Buffer.from(certificate, "base64"));
    const api = this.#lab.as({ pair: { cert, key: this.#lab.keyFile } });
    const labels = { "kubernetes.io/hostname": name };
    await api.create<KubeObject>("/api/v1/nodes", { apiVersion: "v1", kind: "Node", metadata: { name, labels } });
    while (this.#lives(name)) {
      await this.#tend(name, api).catch((reason) => {
        // Somebody else wrote, the API was away or the Node was deleted: the next round sees.
        if (!isConflict(reason) && !isNotFound(reason) && (reason as { status?: number }).status !== 0) throw reason;
      });
      await sleep(OFTEN);
    }
  }

  async #tend(name: string, api: KubeApi): Promise<void> {
    const node = await api.get<Node>(nodePath(name));
    const isBroken = this.broken.has(name);
    const status = isBroken ? "False" : "True";
    if (node.status?.conditions?.find(({ type }) => type === "Ready")?.status !== status) {
      const reason = isBroken ? "KubeletNotReady" : "KubeletReady";
      const message = isBroken ? "cni plugin not initialized" : "posting ready status";
      await api.update(`${nodePath(name)}/status`, {
        ...node,
        status: {
          ...{
            capacity: { cpu: "4", memory: "8Gi", pods: "110" },
            allocatable: { cpu: "4", memory: "8Gi", pods: "110" },
          },
          conditions: [{ type: "Ready", status, reason, message, lastTransitionTime: new Date().toISOString() }],
        },
      } as Node);
    }
    const { items } = await api.list<NodePod>("/api/v1/pods", { fieldSelector: `spec.nodeName=${name}` });
    for (const pod of items) await this.#run(pod, api);
  }

  async #run(pod: NodePod, api: KubeApi): Promise<void> {
    if (pod.metadata?.deletionTimestamp !== undefined) {
      const { name = "", namespace = "" } = pod.metadata;
      const flags = [`--namespace=${namespace}`, "--grace-period=0", "--force", "--wait=false", "--ignore-not-found"];
      await this.#lab.plane.admin.run(["delete", "pod", name, ...flags]);
    } else if (pod.status?.phase === "Pending") {
      const conditions = [
        ...(pod.status.conditions ?? []).filter(({ type }) => type !== "Ready"),
        { type: "Ready", status: "True" },
      ];
      await api.update(`${podPath(pod)}/status`, { ...pod, status: { phase: "Running", conditions } } as NodePod);
    }
  }
}

export function fetchConfig({ ignition }: Pointer): Promise<{ status: number; body: string }> {
  const [{ httpHeaders, source }] = ignition.config.merge;
  const [authority] = ignition.security.tls.certificateAuthorities;
  const ca = Buffer.from(authority.source.split(",")[1] ?? "", "base64").toString();
  const headers = Object.fromEntries(httpHeaders.map(({ name, value }) => [name, value]));
  return new Promise((resolve) => {
    const call = request(source, { ca, headers, agent: false }, (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (part: string) => {
        body += part;
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body }));
    });
    // Machines ask again when nobody is there yet.
    call.on("error", () => resolve({ status: 0, body: "" })).end();
  });
}
