/** An API that keeps some kinds in memory, which the one below it does not have: pods, events, Deployments, Services. */
import { at } from "../../../base/at.js";
import { KubeApiError } from "../../../cluster/kube/errors.js";
import { collectionPath, type Kind } from "../../../cluster/kube/paths.js";
import type { KubeApi, KubeObject, ListOptions } from "../../../cluster/kube/port.js";

const KINDS: readonly Kind[] = ["Pod", "Event", "Deployment", "Service"];

export function withMoreKinds(below: KubeApi): KubeApi {
  const objects = new Map<string, KubeObject>();
  let version = 0;
  const isOwn = (path: string) => {
    const collection = path.replace(NAME, "").replace(/\/namespaces\/[^/]+/, "");
    return KINDS.some((kind) => collectionPath(kind) === collection);
  };
  const put = <T extends KubeObject>(path: string, object: T): T => {
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(++version) } };
    objects.set(path, stored);
    return stored;
  };
  const existing = (path: string): KubeObject => {
    const found = objects.get(path);
    if (found === undefined) throw new KubeApiError(`${path} not found`, { status: 404, reason: "NotFound" });
    return found;
  };
  return {
    ...below,
    async get<T extends KubeObject>(path: string) {
      return isOwn(path) ? (existing(path) as T) : below.get<T>(path);
    },
    async list<T extends KubeObject>(path: string, options: ListOptions = {}) {
      if (!isOwn(path)) return below.list<T>(path, options);
      const [root, plural] = [path.slice(0, path.lastIndexOf("/")), path.slice(path.lastIndexOf("/"))];
      const items = [...objects]
        .filter(([key]) => key.startsWith(root) && key.slice(0, key.lastIndexOf("/")).endsWith(plural))
        .map(([, object]) => object as T);
      return { items: items.filter((object) => isSelected(object, options)) };
    },
    async create<T extends KubeObject>(path: string, object: T) {
      return isOwn(path) ? put(`${path}/${object.metadata?.name}`, object) : below.create(path, object);
    },
    async update<T extends KubeObject>(path: string, object: T) {
      return isOwn(path) ? put(path, object) : below.update(path, object);
    },
    async delete(path, options = {}) {
      if (!isOwn(path)) return below.delete(path, options);
      const { resourceVersion } = existing(path).metadata ?? {};
      if (options.resourceVersion !== undefined && options.resourceVersion !== resourceVersion) {
        throw new KubeApiError(`${path} has changed`, { status: 409, reason: "Conflict" });
      }
      objects.delete(path);
    },
  };
}

/** The name at the end of a path, if there is one: a collection ends with its plural. */
const NAME = /(?<=\/(?:pods|events|deployments|services))\/[^/]+$/;

/** Both kinds of selector, with equality alone. */
function isSelected(object: KubeObject, { fieldSelector = "", labelSelector = "" }: ListOptions): boolean {
  const pairs = (text: string) =>
    text === "" ? [] : text.split(",").map((part) => part.split("=") as [string, string]);
  const labels = object.metadata?.labels ?? {};
  return (
    pairs(labelSelector).every(([key, value]) => labels[key] === value) &&
    pairs(fieldSelector).every(([key, value]) => at(object, ...key.split(".")) === value)
  );
}
