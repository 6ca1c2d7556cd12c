/** HyperShift's workloads that carry the tunnel, as its operators write them (release 4.22's line), with another image. */

const TLS = (name: string, directory: string) => [`/etc/konnectivity/${directory}/${name}`];
const flag = (name: string, value: string) => [`--${name}`, value];

const httpGet = (path: string, host?: string) => ({
  httpGet: { path, port: 2041, scheme: "HTTP", ...(host === undefined ? {} : { host }) },
});

const secret = (name: string, secretName: string) => ({ name, secret: { defaultMode: 0o640, secretName } });
const authority = { name: "konnectivity-ca", configMap: { defaultMode: 0o640, name: "konnectivity-ca-bundle" } };
const restricted = {
  ...{ allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, runAsNonRoot: true },
  capabilities: { drop: ["ALL"] },
};

function workload(kind: string, namespace: string, name: string, more: object, pod: object): object {
  const labels = { app: name };
  return {
    ...{ apiVersion: "apps/v1", kind, metadata: { name, namespace } },
    spec: { ...more, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: pod } },
  };
}

/** The container that HyperShift puts beside its kube-apiserver, by itself. */
export const serverDeployment = (namespace: string, image: string): object =>
  workload(
    "Deployment",
    namespace,
    "kube-apiserver",
    { replicas: 1 },
    {
      ...{ automountServiceAccountToken: false, terminationGracePeriodSeconds: 135 },
      securityContext: { runAsUser: 1001, fsGroup: 1001, runAsNonRoot: true },
      containers: [
        {
          ...{ name: "konnectivity-server", image, imagePullPolicy: "IfNotPresent" },
          command: ["/usr/bin/proxy-server"],
          args: [
            ...["--logtostderr=true", "--log-file-max-size=0"],
            ...["--cluster-cert", ...TLS("tls.crt", "cluster"), "--cluster-key", ...TLS("tls.key", "cluster")],
            ...["--cluster-ca-cert", ...TLS("ca.crt", "ca")],
            ...["--server-cert", ...TLS("tls.crt", "server"), "--server-key", ...TLS("tls.key", "server")],
            ...["--server-ca-cert", ...TLS("ca.crt", "ca")],
            ...[...flag("server-port", "8090"), ...flag("agent-port", "8091"), ...flag("health-port", "2041")],
            ...["--admin-port=8093", "--mode=http-connect", "--proxy-strategies=destHost,defaultRoute"],
            ...[
              ...flag("keepalive-time", "30s"),
              ...flag("frontend-keepalive-time", "30s"),
              ...flag("server-count", "1"),
            ],
          ],
          lifecycle: { preStop: { exec: { command: ["/bin/sh", "-c", "sleep 70"] } } },
          livenessProbe: { ...httpGet("healthz"), initialDelaySeconds: 120, periodSeconds: 60, timeoutSeconds: 30 },
          readinessProbe: { ...httpGet("healthz"), periodSeconds: 10, timeoutSeconds: 5 },
          resources: { requests: { cpu: "10m", memory: "50Mi" } },
          volumeMounts: [
            { name: "cluster-certs", mountPath: "/etc/konnectivity/cluster" },
            { name: "konnectivity-ca", mountPath: "/etc/konnectivity/ca" },
            { name: "server-certs", mountPath: "/etc/konnectivity/server" },
          ],
          securityContext: restricted,
        },
      ],
      volumes: [
        authority,
        secret("server-certs", "konnectivity-server"),
        secret("cluster-certs", "konnectivity-cluster"),
      ],
    },
  );

const agentContainer = (image: string, host: string, port: string, more: readonly string[]) => ({
  ...{ name: "konnectivity-agent", image, imagePullPolicy: "IfNotPresent", command: ["/usr/bin/proxy-agent"] },
  args: [
    "--logtostderr=true",
    ...["--ca-cert", ...TLS("ca.crt", "ca")],
    ...["--agent-cert", ...TLS("tls.crt", "agent"), "--agent-key", ...TLS("tls.key", "agent")],
    ...[...flag("proxy-server-host", host), ...flag("proxy-server-port", port), ...flag("health-server-port", "2041")],
    ...more,
    ...[...flag("keepalive-time", "30s"), ...flag("probe-interval", "5s")],
    ...[...flag("sync-interval", "5s"), ...flag("sync-interval-cap", "30s"), ...flag("v", "3")],
  ],
  livenessProbe: { ...httpGet("healthz"), periodSeconds: 30, timeoutSeconds: 5, failureThreshold: 6 },
  readinessProbe: { ...httpGet("readyz"), periodSeconds: 30, timeoutSeconds: 5, failureThreshold: 1 },
  startupProbe: { ...httpGet("healthz"), periodSeconds: 5, timeoutSeconds: 5, failureThreshold: 60 },
  resources: { requests: { cpu: "40m", memory: "50Mi" } },
  volumeMounts: [
    { name: "agent-certs", mountPath: "/etc/konnectivity/agent" },
    { name: "konnectivity-ca", mountPath: "/etc/konnectivity/ca" },
  ],
  securityContext: restricted,
});

/** Of the control plane, which reaches aggregated API servers. */
export const agentDeployment = (namespace: string, image: string): object =>
  workload(
    "Deployment",
    namespace,
    "konnectivity-agent",
    { replicas: 1 },
    {
      automountServiceAccountToken: false,
      securityContext: { runAsUser: 1001, fsGroup: 1001, runAsNonRoot: true },
      containers: [agentContainer(image, "konnectivity-server", "8091", [])],
      volumes: [secret("agent-certs", "konnectivity-agent"), authority],
    },
  );

/** Of the nodes. */
export const agentDaemonSet = (namespace: string, image: string, host: string, port: string): object =>
  workload(
    "DaemonSet",
    namespace,
    "konnectivity-agent-nodes",
    { updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: "10%", maxSurge: 0 } } },
    {
      ...{ dnsPolicy: "Default", hostNetwork: false, automountServiceAccountToken: false },
      securityContext: { runAsUser: 1000 },
      containers: [
        agentContainer(image, host, port, [
          ...flag("health-server-host", "0.0.0.0"),
          "--agent-identifiers=default-route=true",
        ]),
      ],
      volumes: [secret("agent-certs", "konnectivity-agent"), authority],
      tolerations: [{ operator: "Exists" }],
    },
  );
