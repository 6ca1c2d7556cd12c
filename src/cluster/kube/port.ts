/** The Kubernetes API as the rest of drawbridge sees it: raw paths in, plain objects out. */

export interface ObjectMeta {
  readonly name?: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  /** Set while the object is being deleted. */
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata?: ObjectMeta;
}

export interface KubeList<T> {
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
  readonly items: readonly T[];
}

export interface RequestOptions {
  /** Covers waiting for the rate limit, connecting and the whole answer. Default 30 s. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

export interface ListOptions extends RequestOptions {
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** `"0"` accepts what the API server has in its cache; empty asks for the newest. */
  readonly resourceVersion?: string;
}

export interface KubeWatchOptions extends Pick<ListOptions, "labelSelector" | "fieldSelector"> {
  readonly resourceVersion: string;
  readonly signal: AbortSignal;
  /** The watch ends when nothing, not even a bookmark, arrives for this long. Default 150 s; bookmarks come every minute. */
  readonly silenceMs?: number;
  /** Called when the API server accepted the watch. */
  readonly onOpen?: () => void;
}

export interface WatchEvent<T> {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK";
  readonly object: T;
}

export interface DeleteOptions extends RequestOptions {
  /** Delete only what is still at this version. */
  readonly resourceVersion?: string;
  /** `Background` answers at once and lets the garbage collector take what the object owns; empty: the API's own default. */
  readonly propagationPolicy?: "Background" | "Foreground" | "Orphan";
}

export interface UpdateOptions extends RequestOptions {
  /** The name under which the API server records changed fields; empty: it makes one from the program's name. */
  readonly fieldManager?: string;
}

export interface CreateOptions extends UpdateOptions {
  /** Validate and answer, but store nothing. */
  readonly dryRun?: boolean;
}

export interface ApplyOptions extends RequestOptions {
  /** The name under which the API server records the fields as ours. */
  readonly fieldManager: string;
  /** Take over fields that another manager set. */
  readonly force?: boolean;
  /** Validate and answer, but store nothing. */
  readonly dryRun?: boolean;
}

/** Paths are the API's own, e.g. `/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/x`. Failures are KubeApiError. */
export interface KubeApi {
  get<T extends KubeObject>(path: string, options?: RequestOptions): Promise<T>;
  /** The text of what is not an object: `/readyz`, `/metrics`. */
  text(path: string, options?: RequestOptions): Promise<string>;
  /** The items of all pages. */
  list<T extends KubeObject>(path: string, options?: ListOptions): Promise<KubeList<T>>;
  /** Ends quietly when the API server ends the watch, when it falls silent or when the signal fires. */
  watch<T extends KubeObject>(path: string, options: KubeWatchOptions): AsyncGenerator<WatchEvent<T>, void, void>;
  create<T extends KubeObject>(path: string, object: T, options?: CreateOptions): Promise<T>;
  update<T extends KubeObject>(path: string, object: T, options?: UpdateOptions): Promise<T>;
  /** Server-side apply: creates the object, or changes the fields of it that are given. */
  apply<T extends KubeObject>(path: string, object: T, options: ApplyOptions): Promise<T>;
  delete(path: string, options?: DeleteOptions): Promise<void>;
  /** Closes idle connections; requests in progress finish. */
  close(): void;
}
