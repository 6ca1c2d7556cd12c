/** The flags of server and agents; the same for the payload's, upstream's and our programs, but for a few of ours. */
import { controlPlaneIdentifiers, strategies } from "./identifiers.js";
import type { Endpoint, HostedModel } from "./model.js";
import { mounts, ports } from "./names.js";

// Peers may ping at most this often before a server hangs up.
const KEEPALIVE = "--keepalive-time=30s";

export const PRE_STOP_SECONDS = 70;
export const POD_GRACE_SECONDS = 135;
/** What the pod's grace leaves behind the pause, with a margin. */
const DRAIN_SECONDS = 60;

export function serverArguments(model: HostedModel): string[] {
  const { signers, tls, replicas } = model;
  const isShared = signers === "shared";
  return [
    "--logtostderr=true",
    "--log-file-max-size=0",
    `--cluster-cert=${mounts.cluster}/tls.crt`,
    `--cluster-key=${mounts.cluster}/tls.key`,
    `--cluster-ca-cert=${isShared ? mounts.ca : mounts.agentCa}/ca.crt`,
    `--server-cert=${mounts.server}/tls.crt`,
    `--server-key=${mounts.server}/tls.key`,
    `--server-ca-cert=${isShared ? mounts.ca : mounts.clientCa}/ca.crt`,
    `--server-port=${ports.frontend}`,
    `--agent-port=${ports.agent}`,
    `--health-port=${ports.health}`,
    `--admin-port=${ports.admin}`,
    "--mode=http-connect",
    `--proxy-strategies=${strategies(model)}`,
    KEEPALIVE,
    "--frontend-keepalive-time=30s",
    `--server-count=${replicas}`,
    `--tls-min-version=${tls.minVersion}`,
    ...(tls.cipherSuites.length === 0 ? [] : [`--cipher-suites=${tls.cipherSuites.join(",")}`]),
    ...(hasClaims(model)
      ? [`--agent-claims-file=${mounts.claims}/claims.yaml`, `--graceful-shutdown-timeout=${DRAIN_SECONDS}s`]
      : []),
  ];
}

/** Only our own server asks who may claim what. */
export const hasClaims = ({ images }: HostedModel): boolean => images.kind === "drawbridge";

export function hostedAgentArguments(model: HostedModel): string[] {
  return [
    ...commonAgentArguments(model, model.endpoint),
    `--health-server-host=${model.agentHostNetwork ? "127.0.0.1" : "0.0.0.0"}`,
    "--agent-identifiers=default-route=true",
    "--v=3",
  ];
}

export function controlPlaneAgentArguments(model: HostedModel): string[] {
  return [
    ...commonAgentArguments(model, model.localEndpoint),
    `--agent-identifiers=${controlPlaneIdentifiers(model)}`,
    "--v=3",
  ];
}

function commonAgentArguments({ images }: HostedModel, { host, port }: Endpoint): string[] {
  return [
    "--logtostderr=true",
    `--ca-cert=${mounts.ca}/ca.crt`,
    `--agent-cert=${mounts.agent}/tls.crt`,
    `--agent-key=${mounts.agent}/tls.key`,
    `--proxy-server-host=${host}`,
    `--proxy-server-port=${port}`,
    `--health-server-port=${ports.health}`,
    KEEPALIVE,
    "--probe-interval=5s",
    "--sync-interval=5s",
    "--sync-interval-cap=30s",
    // Within the 30 s that pods have to end.
    ...(images.kind === "drawbridge" ? ["--drain-timeout=20s"] : []),
  ];
}

/** What the kube-apiserver is started with. */
export const apiServerFlag = `--egress-selector-config-file=${mounts.egress}/config.yaml`;
