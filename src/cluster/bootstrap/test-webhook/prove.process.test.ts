/** The test webhook with a fake API server: the objects that are made, the conclusion, and that nothing is left. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { ApiStub, reply, replyStatus } from "../../kube/testing/api-stub.js";
import { ClusterStub, type Intercept } from "../../kube/testing/cluster-stub.js";
import { proveWithTestWebhook } from "./prove.js";
import { SEEN_FROM } from "./serve.js";

const NAMESPACE = "/api/v1/namespaces/drawbridge-bootstrap";
const CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
const DAEMONSET = "/apis/apps/v1/namespaces/drawbridge-bootstrap/daemonsets/konnectivity-agent";

interface Made {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly labels: Record<string, string>;
    readonly ownerReferences?: object[];
  };
}

let dials: number;
let metrics: ApiStub;
let cluster: ClusterStub;
/** How the fake kubelet and kube-apiserver behave. */
let podStatus: object;
let onDryRun: () => object | undefined;
let further: Intercept | undefined;

const ready = { phase: "Running", conditions: [{ type: "Ready", status: "True" }] };
const annotated = () => ({ [SEEN_FROM]: "10.128.2.20" });

beforeEach(async () => {
  dials = 7;
  podStatus = ready;
  further = undefined;
  onDryRun = () => {
    dials++;
    return annotated();
  };
  metrics = await ApiStub.start(
    (_, response) => void response.end(`konnectivity_network_proxy_server_dial_duration_seconds_count ${dials}\n`),
  );
  const objects = {
    [NAMESPACE]: { metadata: { name: "drawbridge-bootstrap", uid: "namespace-uid" } },
    [DAEMONSET]: { spec: { template: { spec: { containers: [{ image: "registry.example/drawbridge:1" }] } } } },
  };
  cluster = await ClusterStub.start(objects, async (request, response, self) => {
    if ((await further?.(request, response, self)) === true) return true;
    if (request.method === "POST" && request.query.has("dryRun")) {
      const annotations = onDryRun();
      const body = request.body as Made;
      reply(response, 201, { ...body, metadata: { ...body.metadata, annotations } });
      return true;
    }
    if (request.method === "GET" && /\/pods\/./.test(request.path) && self.objects.has(request.path)) {
      reply(response, 200, { ...(self.objects.get(request.path) as object), status: podStatus });
      return true;
    }
    return false;
  });
});
afterEach(() => Promise.all([metrics.close(), cluster.close()]));

const check = (image = "", signal = new AbortController().signal) => {
  const bridge = { topology: "bare", namespace: "drawbridge-bootstrap", health: metrics.url } as const;
  return proveWithTestWebhook(bridge, cluster.api, image, signal);
};
const made = () =>
  cluster.requests
    .filter(({ method, query }) => method === "POST" && !query.has("dryRun"))
    .map(({ body }) => body as Made);
const remaining = () => [...cluster.objects.keys()].filter((path) => path.includes("drawbridge-verify"));

test("the test passes when the webhook was called and the server counted it; all of it is labelled, and gone afterwards", async () => {
  const result = await check();
  expect(result).toMatchObject({
    state: "ok",
    details: { calledFrom: "10.128.2.20", dialsBefore: 7, dialsAfter: 8 },
  });
  expect(made().map(({ kind }) => kind)).toEqual(["Secret", "Service", "Pod", "MutatingWebhookConfiguration"]);
  for (const { metadata } of made()) {
    expect(metadata.labels).toMatchObject({
      "openshift.io/bootstrap-only": "true",
      "drawbridge-verify": expect.any(String),
    });
  }
  expect(made().at(-1)?.metadata.ownerReferences).toMatchObject([{ kind: "Namespace", uid: "namespace-uid" }]);
  expect(JSON.stringify(made()[2])).toContain("registry.example/drawbridge:1");
  expect(remaining()).toEqual([]);
  expect(JSON.stringify(result)).not.toContain("PRIVATE KEY");
  const deleted = cluster.requests.filter(({ method }) => method === "DELETE").map(({ path }) => path);
  expect(deleted[0]).toContain(CONFIGURATIONS);
});

test("the test waits until the kube-apiserver knows the webhook, and uses the given image", async () => {
  let calls = 0;
  onDryRun = () => {
    if (++calls < 3) return undefined;
    dials++;
    return annotated();
  };
  expect((await check("other.example/image:2")).state).toBe("ok");
  expect(calls).toBe(3);
  expect(JSON.stringify(made()[2])).toContain("other.example/image:2");
});

test("a call that the server did not count is reported as not through this server", async () => {
  onDryRun = annotated;
  const result = await check();
  expect(result).toMatchObject({ state: "failed", message: expect.stringContaining("not through this server") });
  expect(result.remedy).toContain("--egress-selector-config-file");
  expect(remaining()).toEqual([]);
});

test("a call that fails makes the test fail, and nothing is left in the cluster", async () => {
  further = ({ method, query }, response) => {
    if (method !== "POST" || !query.has("dryRun")) return false;
    replyStatus(response, 500, "InternalError", "failed calling webhook: No agent available");
    return true;
  };
  expect(await check()).toMatchObject({ state: "failed", message: expect.stringContaining("No agent available") });
  expect(remaining()).toEqual([]);
});

test.each(["ImagePullBackOff", "CreateContainerError", "RunContainerError", "CrashLoopBackOff", "ErrImagePull"])(
  "a pod in %s ends the test at once; --test-image is named, nothing is left",
  async (reason) => {
    podStatus = { phase: "Pending", containerStatuses: [{ state: { waiting: { reason, message: "no such file" } } }] };
    const result = await check();
    expect(result).toMatchObject({ state: "failed", message: expect.stringContaining(reason) });
    expect(result.remedy).toContain("--test-image");
    expect(made().map(({ kind }) => kind)).not.toContain("MutatingWebhookConfiguration");
    expect(remaining()).toEqual([]);
  },
);

test("a test that is interrupted while it waits removes everything", async () => {
  const stop = new AbortController();
  podStatus = { phase: "Pending", conditions: [{ type: "PodScheduled", status: "False", message: "no node" }] };
  further = ({ method, path }) => {
    if (method === "GET" && /\/pods\/./.test(path)) setImmediate(() => stop.abort(new Error("interrupted (SIGINT)")));
    return false;
  };
  const result = await check("", stop.signal);
  expect(result).toMatchObject({ state: "failed", message: expect.stringContaining("interrupted (SIGINT)") });
  expect(made()).toHaveLength(3);
  expect(remaining()).toEqual([]);
});

test("objects that a killed test left are removed first", async () => {
  const path = `${CONFIGURATIONS}/drawbridge-verify-old`;
  cluster.objects.set(path, { metadata: { name: "drawbridge-verify-old" } });
  expect((await check()).state).toBe("ok");
  const first = cluster.requests.find(({ method }) => method === "DELETE" || method === "POST");
  expect(first).toMatchObject({ method: "DELETE", path });
  expect(remaining()).toEqual([]);
});

test("objects that cannot be removed are named, with the command that removes them", async () => {
  further = ({ method, path }, response) => {
    if (method !== "DELETE" || !path.startsWith(CONFIGURATIONS)) return false;
    replyStatus(response, 403, "Forbidden", "not yours");
    return true;
  };
  const result = await check();
  expect(result.state).toBe("failed");
  expect(result.remedy).toContain(`kubectl delete --raw ${CONFIGURATIONS}/drawbridge-verify-`);
  expect(remaining()).toHaveLength(1);
});

test("a missing namespace or DaemonSet makes the test fail and names the flag", async () => {
  cluster.objects.delete(DAEMONSET);
  expect(await check()).toMatchObject({ state: "failed", remedy: expect.stringContaining("--test-image") });
  cluster.objects.delete(NAMESPACE);
  expect(await check()).toMatchObject({ state: "failed", remedy: expect.stringContaining("--namespace") });
});
