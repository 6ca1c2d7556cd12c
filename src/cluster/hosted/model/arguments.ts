/** The flags of server and agents; the same for the payload's, upstream's and our programs, but for a few of ours. */

import { isIP } from "node:net";
import type { DialAddress, HostedModel } from "./model.js";
import { mounts, names } from "./names.js";

/** A server closes the connection of a peer that pings more often. */
const KEEPALIVE = "--keepalive-time=30s";

/** As HyperShift's kube-apiserver has it. */
const SHUTDOWN_DELAY_SECONDS = 70;

/**
 * How long the server goes on after its pod was told to end: as long as its kube-apiserver takes requests, and a little
 * longer, since those may dial late. Not much longer: agents that look for a new server find the ending ones, too.
 */
export function preStopSeconds(model: HostedModel): number {
  if (!isOurs(model)) return SHUTDOWN_DELAY_SECONDS;
  return Math.min(model.shutdownDelaySeconds ?? SHUTDOWN_DELAY_SECONDS, SHUTDOWN_DELAY_SECONDS) + 10;
}

export const POD_GRACE_SECONDS = 135;
/** What the grace period of the pod leaves after the pause, with a margin. */
const DRAIN_SECONDS = 50;

/** Where the kube-apiserver and the server beside it meet, if by a socket. */
export const SOCKET = `${mounts.socket}/konnectivity-server.socket`;

/** The listener for callers. */
function frontendArguments({ frontend, ports, signers }: HostedModel): string[] {
  if (frontend === "uds") return [`--uds-name=${SOCKET}`, "--delete-existing-uds-file=true", "--server-port=0"];
  return [
    `--server-cert=${mounts.server}/tls.crt`,
    `--server-key=${mounts.server}/tls.key`,
    `--server-ca-cert=${signers === "shared" ? mounts.ca : mounts.clientCa}/ca.crt`,
    `--server-port=${ports.frontend}`,
  ];
}

export function hostedServerArguments(model: HostedModel): string[] {
  const { frontend, ports, signers, tls, replicas } = model;
  return [
    "--logtostderr=true",
    "--log-file-max-size=0",
    `--cluster-cert=${mounts.cluster}/tls.crt`,
    `--cluster-key=${mounts.cluster}/tls.key`,
    `--cluster-ca-cert=${signers === "shared" ? mounts.ca : mounts.agentCa}/ca.crt`,
    ...frontendArguments(model),
    `--agent-port=${ports.agent}`,
    `--health-port=${ports.health}`,
    `--admin-port=${ports.admin}`,
    `--mode=${frontend === "uds" ? "grpc" : "http-connect"}`,
    `--proxy-strategies=${strategies(model)}`,
    KEEPALIVE,
    "--frontend-keepalive-time=30s",
    `--server-count=${replicas}`,
    `--tls-min-version=${tls.minVersion}`,
    ...(tls.cipherSuites.length === 0 ? [] : [`--cipher-suites=${tls.cipherSuites.join(",")}`]),
    ...(isOurs(model)
      ? [
          `--agent-claims-file=${mounts.claims}/claims.yaml`,
          `--graceful-shutdown-timeout=${DRAIN_SECONDS}s`,
          // Where the control plane serves APIs, agents of one side alone leave calls without a way.
          `--readiness=${model.aggregatedApis.length === 0 ? "any" : "all"}`,
          // A new server has no agent in its first seconds.
          "--wait-for-agent=5s",
        ]
      : []),
  ];
}

/** Whether the programs are drawbridge's own: only these know its flags, check claims, and tell when they had agents. */
export const isOurs = ({ images }: HostedModel): boolean => images.kind === "drawbridge";

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
    ...commonAgentArguments(model, { host: names.server, port: model.ports.agent }),
    `--agent-identifiers=${controlPlaneIdentifiers(model)}`,
    "--v=3",
  ];
}

/** Within the 30 s that pods have to end. */
export const DRAIN_FLAG = "--drain-timeout=20s";

function commonAgentArguments(model: HostedModel, { host, port }: DialAddress): string[] {
  return [
    "--logtostderr=true",
    `--ca-cert=${mounts.ca}/ca.crt`,
    `--agent-cert=${mounts.agent}/tls.crt`,
    `--agent-key=${mounts.agent}/tls.key`,
    `--proxy-server-host=${host}`,
    `--proxy-server-port=${port}`,
    `--health-server-port=${model.ports.health}`,
    KEEPALIVE,
    "--probe-interval=5s",
    // The longest pauses; few agents of ours search more often.
    "--sync-interval=5s",
    "--sync-interval-cap=30s",
    // While servers are rolled out there is one more than their number.
    "--sync-forever=true",
    // A roll-out goes on when the new agent serves every kube-apiserver.
    ...(isOurs(model) ? [DRAIN_FLAG, "--ready-with=all"] : []),
  ];
}

/** The flag that the kube-apiserver needs. */
export const hostedEgressFlag = `--egress-selector-config-file=${mounts.egress}/config.yaml`;

/** HyperShift writes ipv4= whatever the address is, which only works because its server compares texts. */
function identifierKey(entry: string): string {
  if (entry.includes("/")) return "cidr";
  return { 4: "ipv4", 6: "ipv6" }[isIP(entry)] ?? "host";
}

/** The addresses of the aggregated APIs, each once: two APIs may share one. */
const addressesOf = ({ aggregatedApis }: HostedModel): string[] => [
  ...new Set(aggregatedApis.map(({ address }) => address)),
];

/** The value of --agent-identifiers. */
const controlPlaneIdentifiers = (model: HostedModel): string =>
  addressesOf(model)
    .map((entry) => `${identifierKey(entry)}=${encodeURIComponent(entry)}`)
    .join("&");

/** The value of --proxy-strategies: exact names first, so that no connection to the control plane goes to a worker. */
function strategies(model: HostedModel): string {
  const addresses = addressesOf(model);
  const isPrefix = (entry: string) => entry.includes("/");
  const hasNames = addresses.length === 0 || !addresses.every(isPrefix);
  const exact = hasNames ? ["destHost"] : [];
  return [...exact, ...(addresses.some(isPrefix) ? ["destCIDR"] : []), "defaultRoute"].join(",");
}

/**
 * For the server's --agent-claims-file. The signer tells control-plane agents from workers; with one signer for all only
 * the certificates' own names are left, which at least keeps callers of the tunnel from becoming agents.
 */
export function hostedClaimRules(model: HostedModel) {
  const served = addressesOf(model).map((entry) => `${identifierKey(entry)}=${entry}`);
  const byIssuer = (leaf: string) => ({ issuer: `CN=${leaf}-signer,OU=kubernetes` });
  if (model.signers === "shared") {
    const match = { subject: `CN=${names.agent},O=kubernetes` };
    return { rules: [{ match, mayClaim: ["default-route", ...served] }] };
  }
  return {
    rules: [
      { match: byIssuer(names.agent), mayClaim: ["default-route"] },
      // While these agents are not connected, their addresses are served by no other agent, least of all by a worker.
      { match: byIssuer(names.controlPlaneAgent), mayClaim: served, exclusive: true },
    ],
  };
}
