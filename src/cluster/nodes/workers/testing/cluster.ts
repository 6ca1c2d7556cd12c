/** Nodes and pods in memory, with the behaviour of an API server that workers depend on. */

import { KubeApiError } from "../../../kube/errors.js";
import type { KubeApi, KubeObject } from "../../../kube/port.js";
import type { Node } from "../../objects.js";
import { NODES_PATH, type NodePod, nodePath, podPath, podsPath } from "../node.js";

export class MemoryCluster {
  readonly objects = new Map<string, KubeObject>();
  /** `verb path` of everything that was written. */
  readonly writes: string[] = [];
  /** Names of pods whose disruption budget forbids their eviction. */
  readonly held = new Set<string>();
  /** Names of pods that stay after their eviction: nobody ends them. */
  readonly lingering = new Set<string>();
  /** Called before each request; what it throws is the answer. */
  before: (verb: string, path: string) => void = () => {};
  #version = 1;

  putNode(name: string, isReady = true, change: Partial<Node> = {}): void {
    const conditions = [{ type: "Ready", status: isReady ? "True" : "False", reason: "Kubelet", message: "said so" }];
    const node: Node = { metadata: { name, uid: name, ...change.metadata }, spec: {}, status: { conditions } };
    this.#put(nodePath(name), node);
  }

  putPod(name: string, node: string, change: Partial<NodePod> = {}): NodePod {
    const controller = { kind: "ReplicaSet", name: "some", controller: true };
    const metadata = { name, namespace: "default", uid: name, ownerReferences: [controller], ...change.metadata };
    const pod: NodePod = { ...change, metadata, spec: { nodeName: node, ...change.spec } };
    this.#put(podPath(pod), pod);
    return pod;
  }

  node(name: string): Node | undefined {
    return this.objects.get(nodePath(name));
  }

  has(pod: string): boolean {
    return this.objects.has(`${podsPath("default")}/${pod}`);
  }

  #put(path: string, object: KubeObject): KubeObject {
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#version++) } };
    this.objects.set(path, stored);
    return stored;
  }

  #evict(path: string): KubeObject {
    const pod = this.#found(path.replace(/\/eviction$/, "")) as NodePod;
    const name = pod.metadata?.name ?? "";
    if (this.held.has(name)) throw refusal(429, "Cannot evict pod as it would violate the pod's disruption budget.");
    if (this.lingering.has(name)) {
      this.#put(podPath(pod), { ...pod, metadata: { ...pod.metadata, deletionTimestamp: "now" } } as NodePod);
    } else this.objects.delete(podPath(pod));
    return {};
  }

  #found(path: string): KubeObject {
    const object = this.objects.get(path);
    if (object === undefined) throw refusal(404, `there is no ${path}`);
    return object;
  }

  #write(verb: string, path: string): void {
    this.before(verb, path);
    this.writes.push(`${verb} ${path}`);
  }

  readonly api: KubeApi = {
    get: async <T extends KubeObject>(path: string) => {
      this.before("get", path);
      return this.#found(path) as T;
    },
    list: async <T extends KubeObject>(path: string, { fieldSelector = "" } = {}) => {
      this.before("list", path);
      const node = /^spec.nodeName=(.*)$/.exec(fieldSelector)?.[1];
      const isIn = (key: string) => (path === NODES_PATH ? key.startsWith(NODES_PATH) : key.includes("/pods/"));
      const items = [...this.objects].filter(([key]) => isIn(key)).map(([, object]) => object as NodePod);
      return {
        items: items.filter(({ spec }) => node === undefined || spec?.nodeName === node) as KubeObject[] as T[],
      };
    },
    create: async <T extends KubeObject>(path: string, object: T) => {
      this.#write("create", path);
      if (path.endsWith("/eviction")) return this.#evict(path) as T;
      const key = `${path}/${object.metadata?.name}`;
      if (this.objects.has(key)) throw refusal(409, `${key} is there already`);
      return this.#put(key, object) as T;
    },
    update: async <T extends KubeObject>(path: string, object: T) => {
      this.#write("update", path);
      const { metadata } = this.#found(path);
      if (metadata?.resourceVersion !== object.metadata?.resourceVersion) throw refusal(409, "somebody was faster");
      return this.#put(path, object) as T;
    },
    delete: async (path) => {
      this.#write("delete", path);
      this.#found(path);
      this.objects.delete(path);
    },
    apply: async () => Promise.reject(refusal(405, "nothing is applied here")),
    text: async () => Promise.reject(refusal(404, "there is no text")),
    watch: () => {
      throw refusal(405, "nothing is watched here");
    },
    close: () => {},
  };
}

function refusal(status: number, sentence: string): KubeApiError {
  return new KubeApiError(sentence, { status, detail: sentence });
}
