/** The server beside each kube-apiserver: its container, and the patch that adds it to the kube-apiserver's Deployment. */

import { type FileVolume, kubeManifest, mountsOf, UNPRIVILEGED, volumesOf, yamlText } from "../../kube/builders.js";
import { joinedParts } from "../../kube/managed-fields.js";
import {
  hostedClaimRules,
  hostedEgressFlag,
  hostedServerArguments,
  isOurs,
  POD_GRACE_SECONDS,
  preStopSeconds,
  SOCKET,
} from "../model/arguments.js";
import type { HostedModel } from "../model/model.js";
import { mounts, names } from "../model/names.js";
import { type Certificates, hashAnnotation, readAtStart } from "./certificates.js";
import { container, own, type RenderedObject } from "./manifest.js";

function serverVolumes(model: HostedModel): FileVolume[] {
  const { bundles, frontend, signers } = model;
  const isSocket = frontend === "uds";
  const trust: FileVolume[] =
    signers === "shared"
      ? [{ name: "konnectivity-ca", configMap: names.caBundle, path: mounts.ca }]
      : [
          { name: "konnectivity-agent-ca", configMap: bundles.agents, path: mounts.agentCa },
          ...(isSocket ? [] : [{ name: "konnectivity-client-ca", configMap: bundles.clients, path: mounts.clientCa }]),
        ];
  return [
    { name: "cluster-certs", secret: names.cluster, path: mounts.cluster },
    ...(isSocket ? [] : [{ name: "server-certs", secret: names.server, path: mounts.server }]),
    ...trust,
    ...(isOurs(model) ? [{ name: "konnectivity-claims", configMap: names.claims, path: mounts.claims }] : []),
  ];
}

/** What the kube-apiserver's own container needs for its end of the tunnel. */
const apiServerVolumes = ({ frontend }: HostedModel): FileVolume[] => [
  { name: "egress-selector-config", configMap: names.egress, path: mounts.egress },
  ...(frontend === "uds"
    ? []
    : [
        { name: "konnectivity-ca", configMap: names.caBundle, path: mounts.apiServerCa },
        { name: "konnectivity-client", secret: names.client, path: mounts.apiServerClient },
      ]),
];

/** The folder of the socket, which both containers have. */
const SOCKET_VOLUME = "konnectivity-uds";
const socketVolumes = ({ frontend }: HostedModel) =>
  frontend === "uds" ? [{ name: SOCKET_VOLUME, emptyDir: {} }] : [];
const socketMounts = (model: HostedModel) =>
  socketVolumes(model).map(({ name }) => ({ name, mountPath: mounts.socket }));

/**
 * For a container in somebody else's pod, whose own settings are not ours to change. Root's group may read the
 * certificates; where the management cluster chooses users, it chooses a group for the files, too.
 */
export function guestSecurity({ managementChoosesUsers }: HostedModel) {
  return {
    ...(managementChoosesUsers ? {} : { runAsUser: 1001, runAsGroup: 0, runAsNonRoot: true }),
    ...UNPRIVILEGED,
  };
}

function serverContainer(model: HostedModel) {
  const isSidecar = model.serverPlace === "initContainers";
  const probe = (path: string) => ({
    httpGet: { path, port: model.ports.health, scheme: "HTTP" },
    failureThreshold: 3,
  });
  return container(names.server, model.images.server, {
    args: hostedServerArguments(model),
    ports: [
      ...(model.frontend === "uds" ? [] : [{ name: "server", containerPort: model.ports.frontend, protocol: "TCP" }]),
      { name: "agents", containerPort: model.ports.agent, protocol: "TCP" },
    ],
    livenessProbe: { ...probe("/healthz"), initialDelaySeconds: 120, periodSeconds: 60, timeoutSeconds: 30 },
    // Not readyz: a kube-apiserver without agents must still be reached, or no worker could ever join.
    readinessProbe: isOurs(model)
      ? { ...probe("/readyz/first-agent"), periodSeconds: 2, timeoutSeconds: 5 }
      : { ...probe("/healthz"), periodSeconds: 10, timeoutSeconds: 5 },
    ...(isSidecar ? sidecarLife(model, probe) : pauseOf(model)),
    securityContext: guestSecurity(model),
    volumeMounts: [...mountsOf(serverVolumes(model)), ...socketMounts(model)],
  });
}

/** The kubelet starts the kube-apiserver after it, and ends it after the kube-apiserver: it needs no pause. */
const sidecarLife = (model: HostedModel, probe: (path: string) => object) => ({
  restartPolicy: "Always",
  // A kube-apiserver that starts asks aggregated APIs at once, and what it finds counts for all of them.
  ...(isOurs(model) && {
    startupProbe: { ...probe(FIRST_START), periodSeconds: 1, timeoutSeconds: 5, failureThreshold: 120 },
  }),
});

/** Shorter than for readiness: a control plane without nodes is not ready later because of it. */
const FIRST_START = "/readyz/first-agent?within=15s";

/** Agents find the new server meanwhile. */
const pauseOf = (model: HostedModel) => (model.preStop === "exec" ? execPause(preStopSeconds(model)) : {});

/** As HyperShift has it; image/sh.cjs is what our image has for it. */
export const execPause = (seconds: number) => ({
  lifecycle: { preStop: { exec: { command: ["/bin/sh", "-c", `sleep ${seconds}`] } } },
});

/** The container and its volumes, for a pod that the user writes. */
export function serverFragment(model: HostedModel) {
  const volumes = [...volumesOf(serverVolumes(model)), ...socketVolumes(model)];
  return { [model.serverPlace]: [serverContainer(model)], volumes };
}

/**
 * For a strategic patch only: an ordinary container of the same name, which earlier versions of drawbridge rendered, is
 * taken out of the pod.
 */
export const movedPart = ({ serverPlace }: HostedModel) => ({
  spec: {
    template: {
      spec: { containers: serverPlace === "containers" ? [] : [{ name: names.server, $patch: "delete" }] },
    },
  },
});

/** The time that pods have to end, of which the pause is a part. */
export const gracePart = { spec: { template: { spec: { terminationGracePeriodSeconds: POD_GRACE_SECONDS } } } };

/**
 * For `kubectl patch --type strategic`: containers, volumes and mounts are merged by name. The kube-apiserver's flags are
 * one list that a patch could only replace, so the flag is its owner's to add.
 */
export function apiServerPatch(model: HostedModel, certificates: Certificates | undefined) {
  const annotations = hashAnnotation(certificates, [
    ...readAtStart(model, [names.server, names.cluster]),
    // The kube-apiserver's own end of the tunnel.
    ...(model.frontend === "uds" ? [] : [names.client, names.caBundle]),
  ]);
  const files = apiServerVolumes(model);
  const isShared = ({ name }: FileVolume) => files.some((each) => each.name === name);
  const volumeMounts = [...mountsOf(files), ...socketMounts(model)];
  const template = {
    metadata: { labels: { app: names.apiServer }, annotations },
    spec: {
      ...joinedParts(
        { containers: [{ name: names.apiServer, volumeMounts }] },
        { [model.serverPlace]: [serverContainer(model)] },
      ),
      volumes: [
        ...volumesOf([...files, ...serverVolumes(model).filter((each) => !isShared(each))]),
        ...socketVolumes(model),
      ],
    },
  };
  const metadata = { name: names.apiServer, namespace: model.namespace };
  return kubeManifest("Deployment", metadata, { spec: { template } });
}

export const apiServerComment = ({
  serverPlace,
}: HostedModel): string => `For: kubectl patch deployment ${names.apiServer} --type strategic --patch-file THIS_FILE
Then add to the kube-apiserver's own flags: ${hostedEgressFlag}${serverPlace === "containers" ? "" : `\nA native sidecar needs Kubernetes 1.${SIDECARS_SINCE}; before that render it with nativeSidecar: false in the description.`}`;

/** Kubelets have native sidecars since 1.29, and may be three versions older than the API server. */
export const SIDECARS_SINCE = 32;

const direct = { proxyProtocol: "Direct" } as const;

/**
 * The connection to the server in the same pod, which ends after its kube-apiserver. Go's server cannot tell when it had
 * its first agent, so theirs goes to any of the servers by their Service.
 */
function clusterConnection(model: HostedModel) {
  const { frontend, ports } = model;
  if (frontend === "uds") return { proxyProtocol: "GRPC", transport: { uds: { udsName: SOCKET } } };
  const tlsConfig = {
    caBundle: `${mounts.apiServerCa}/ca.crt`,
    clientCert: `${mounts.apiServerClient}/tls.crt`,
    clientKey: `${mounts.apiServerClient}/tls.key`,
  };
  const tcp = { url: `https://${isOurs(model) ? "127.0.0.1" : names.serverLocal}:${ports.frontend}`, tlsConfig };
  return { proxyProtocol: "HTTPConnect", transport: { tcp } };
}

/** Sends the kube-apiserver's calls into the hosted cluster there, and nothing else. */
function egressConfiguration(model: HostedModel) {
  return {
    apiVersion: "apiserver.k8s.io/v1beta1",
    kind: "EgressSelectorConfiguration",
    egressSelections: [
      { name: "controlplane", connection: direct },
      { name: "etcd", connection: direct },
      { name: "cluster", connection: clusterConnection(model) },
    ],
  };
}

/** The files of the kube-apiserver and of the server; only drawbridge's own server checks claims. */
export function serverConfigMaps(model: HostedModel): RenderedObject[] {
  const configMap = (name: string, file: string, content: object) =>
    own(model, "control-plane", "ConfigMap", { name }, { data: { [file]: yamlText(content) } });
  const claims = isOurs(model) ? [configMap(names.claims, "claims.yaml", hostedClaimRules(model))] : [];
  return [configMap(names.egress, "config.yaml", egressConfiguration(model)), ...claims];
}
