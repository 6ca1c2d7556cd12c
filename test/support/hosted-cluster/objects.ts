/** The hosted control plane as its owner applies it, before drawbridge comes. */
import { managerFlags, WORKLOAD_CONTROLLERS } from "../lab/controller-manager.js";
import { API_NAME, API_PORT, ETCD_URL, type HostedPlane, pkiVolume } from "./plane.js";

export const NAMESPACE = "clusters-demo";
const SECRET = "control-plane-pki";

/** What the owner of the kube-apiserver decides. */
export interface Design {
  readonly image: string;
  readonly replicas: number;
  readonly nodePort: number;
  /** Further flags. */
  readonly flags: readonly string[];
}

/** What begins without the part before it waits for long, or ends and is started again ten seconds later. */
interface ControlPlane {
  readonly storage: readonly object[];
  /** Without egress selector. */
  readonly api: object;
  readonly controllers: readonly object[];
}

export function controlPlane(plane: HostedPlane, design: Design): ControlPlane {
  const { image, nodePort } = design;
  const scheduler = ["--leader-elect=false", "--bind-address=127.0.0.1"];
  const flags = {
    manager: managerFlags({
      ...{ kubeconfig: plane.kubeconfigInPod("system:kube-controller-manager"), ...plane.filesInPod },
      ...{ controllers: [...WORKLOAD_CONTROLLERS, "disruption-controller"], signs: false },
    }),
    scheduler: [`--kubeconfig=${plane.kubeconfigInPod("system:kube-scheduler")}`, ...scheduler],
  };
  const metadata = { name: SECRET, namespace: NAMESPACE };
  const storage = [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE } },
    { apiVersion: "v1", kind: "Secret", metadata, data: plane.secretData() },
    service("etcd-client", "etcd", { port: 2379 }),
    service(API_NAME, API_NAME, { port: API_PORT, nodePort }),
    etcd(image),
  ];
  const controllers = [
    deployment("kube-controller-manager", image, flags.manager),
    deployment("kube-scheduler", image, flags.scheduler),
  ];
  return { storage, api: apiServer(plane, design), controllers };
}

/** Serves on for a while after its end was asked for, so that balancers find out. */
const FAREWELL = "--shutdown-delay-duration=5s";

export function apiServer(plane: HostedPlane, { image, replicas, flags }: Design): object {
  return deployment(API_NAME, image, [...plane.apiServerFlags, FAREWELL, ...flags], {
    replicas,
    cpu: "100m",
    // A roll-out never has fewer than before.
    strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
    readinessProbe: { httpGet: { path: "/readyz", port: API_PORT, scheme: "HTTPS" }, periodSeconds: 1 },
  });
}

const etcd = (image: string): object =>
  deployment(
    "etcd",
    image,
    ["--data-dir=/tmp/etcd", "--listen-client-urls=http://0.0.0.0:2379", `--advertise-client-urls=${ETCD_URL}`],
    {
      cpu: "200m",
      strategy: { type: "Recreate" },
      readinessProbe: { httpGet: { path: "/health", port: 2379 }, periodSeconds: 1 },
    },
  );

interface Details {
  readonly replicas?: number;
  readonly strategy?: object;
  readonly readinessProbe?: object;
  /** Without a request, pods that have one leave it nothing. */
  readonly cpu?: string;
}

/** The image has a program of this name. */
function deployment(name: string, image: string, args: readonly string[], details: Details = {}): object {
  const { replicas = 1, strategy, readinessProbe, cpu = "50m" } = details;
  const labels = { app: name };
  const volumeMounts = [pkiVolume.mount, { name: "data", mountPath: "/tmp" }];
  const resources = { requests: { cpu } };
  const container = { name, image, command: [`/${name}`, ...args], volumeMounts, readinessProbe, resources };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace: NAMESPACE },
    spec: {
      ...{ replicas, strategy, selector: { matchLabels: labels } },
      template: {
        metadata: { labels },
        spec: {
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          containers: [container],
          volumes: [pkiVolume.volume(SECRET), { name: "data", emptyDir: { medium: "Memory" } }],
        },
      },
    },
  };
}

function service(name: string, app: string, { port, nodePort }: { port: number; nodePort?: number }): object {
  const ports = [{ port, targetPort: port, ...(nodePort === undefined ? {} : { nodePort }) }];
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, namespace: NAMESPACE },
    spec: { type: nodePort === undefined ? "ClusterIP" : "NodePort", selector: { app }, ports },
  };
}
