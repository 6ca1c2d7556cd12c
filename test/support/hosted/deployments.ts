/** Deployments of a kube-apiserver as people and operators make them. */

const labels = { app: "kube-apiserver" };

function deployment(namespace: string, spec: object): object {
  const template = { metadata: { labels }, spec };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "kube-apiserver", namespace },
    spec: { replicas: 1, selector: { matchLabels: labels }, template },
  };
}

/** On another port than the usual one. `pod`: further fields of its pods. */
export const plainDeployment = (namespace: string, pod: object = {}): object =>
  deployment(namespace, {
    ...pod,
    containers: [
      { name: "kube-apiserver", image: "registry.example/kas:1", command: ["kube-apiserver", "--secure-port=8443"] },
      { name: "exporter", image: "registry.example/exporter:1", ports: [{ name: "metrics", containerPort: 9100 }] },
    ],
  });

const secret = (name: string, secretName: string) => ({ name, secret: { secretName, defaultMode: 0o640 } });
const configMap = (name: string, of: string) => ({ name, configMap: { name: of, defaultMode: 0o644 } });
const probe = (path: string, port: number | string, scheme: string, more: object) => ({
  httpGet: { path, port, scheme },
  ...more,
});

/** What counts here of the Deployment that HyperShift's operator makes: its server, and the files of both programs. */
export const hyperShiftDeployment = (namespace: string): object =>
  deployment(namespace, {
    terminationGracePeriodSeconds: 135,
    containers: [
      {
        name: "kube-apiserver",
        image: "registry.example/hyperkube:1",
        command: ["hyperkube"],
        args: ["kube-apiserver", "--openshift-config=/etc/kubernetes/config/config.json"],
        ports: [{ name: "client", containerPort: 6443, protocol: "TCP" }],
        readinessProbe: probe("readyz", "client", "HTTPS", { failureThreshold: 18, timeoutSeconds: 10 }),
        volumeMounts: [
          { mountPath: "/etc/kubernetes/egress-selector", name: "egress-selector-config" },
          { mountPath: "/etc/kubernetes/certs/konnectivity-ca", name: "konnectivity-ca" },
          { mountPath: "/etc/kubernetes/certs/konnectivity-client", name: "konnectivity-client" },
        ],
      },
      {
        name: "konnectivity-server",
        image: "registry.example/apiserver-network-proxy:1",
        command: ["/usr/bin/proxy-server"],
        args: ["--logtostderr=true", "--mode=http-connect", "--server-count", "1"],
        lifecycle: { preStop: { exec: { command: ["/bin/sh", "-c", "sleep 70"] } } },
        livenessProbe: probe("healthz", 2041, "HTTP", { initialDelaySeconds: 120, timeoutSeconds: 30 }),
        readinessProbe: probe("healthz", 2041, "HTTP", { timeoutSeconds: 5 }),
        resources: { requests: { cpu: "10m", memory: "50Mi" } },
        volumeMounts: [
          { mountPath: "/etc/konnectivity/cluster", name: "cluster-certs" },
          { mountPath: "/etc/konnectivity/ca", name: "konnectivity-ca" },
          { mountPath: "/etc/konnectivity/server", name: "server-certs" },
        ],
      },
    ],
    volumes: [
      configMap("konnectivity-ca", "konnectivity-ca-bundle"),
      secret("konnectivity-client", "konnectivity-client"),
      configMap("egress-selector-config", "kas-egress-selector-config"),
      secret("server-certs", "konnectivity-server"),
      secret("cluster-certs", "konnectivity-cluster"),
    ],
  });
