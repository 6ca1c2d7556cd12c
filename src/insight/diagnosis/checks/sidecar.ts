/** What stands behind a sidecar: the proxy-server's front doors, and who looks names up. */
import { existsSync } from "node:fs";
import { isIP } from "node:net";
import { describeFrontend, type Frontend } from "../../../tunnel/client/frontend.js";
import type { DoctorContext, SidecarWays } from "../context.js";
import { type Check, type Outcome, ok, skipped, warning, wrong } from "../diagnosis.js";
import { peek } from "../host/peek.js";
import { socketAnswers } from "../host/socket-answers.js";
import { judgeShown } from "../shown-certificate.js";

const notKnown = skipped("no sidecar runs in this network, so its settings are not known");

export const frontend: Check<DoctorContext> = {
  id: "frontend",
  roles: ["sidecar"],
  async run(context) {
    const { sidecar } = context;
    if (sidecar === undefined) return [notKnown];
    if (typeof sidecar === "string")
      return [wrong(sidecar, "Give --kubeconfig, --frontend and files as the sidecar sees them.")];
    const found: Outcome[][] = [];
    for (const door of sidecar.frontends) found.push(await knock(door, context));
    const isOpen = (outcomes: readonly Outcome[]) => outcomes.every(({ state }) => state === "ok");
    // The next is tried when one is out of reach: a spare that is missing stops nobody yet.
    return found.some(isOpen)
      ? found.flat().map((one) => (one.state === "wrong" ? { ...one, state: "warning" as const } : one))
      : found.flat();
  },
};

async function knock(door: Frontend, { host, now }: DoctorContext): Promise<Outcome[]> {
  const where = describeFrontend(door);
  if ("uds" in door) {
    return (await socketAnswers(door.uds))
      ? [ok(`the frontend ${where} takes connections`)]
      : [wrong(`nobody listens on the frontend's socket ${where}`, "Start the proxy-server, or correct --frontend.")];
  }
  const peeked = await peek(door.host, door.port, 6_000, door.mode === "grpc" ? "h2" : "http/1.1");
  if (peeked.state !== "connected") {
    const findings = {
      timeout: `the frontend ${where} does not answer: something on the way drops TCP ${door.port}`,
      refused: `nothing takes connections on the frontend ${where}`,
      "no-tls": `the frontend ${where} does not speak TLS as a proxy-server's front door does`,
      unreachable: `the frontend ${where} cannot be reached`,
    } as const;
    const name = isIP(door.host) === 0 ? ` Does the name resolve here (getent hosts ${door.host})?` : "";
    const remedy = `Start the proxy-server there with --server-port=${door.port}, or correct --frontend.${name}`;
    return [wrong(findings[peeked.state], remedy, peeked.detail)];
  }
  const { caFile = "", servername = door.host } = door.tls;
  const ca = { file: caFile, text: door.tls.ca ?? (caFile === "" ? undefined : await host.readText(caFile)) };
  const { found, evidence, isTrusted } = judgeShown(
    { where, raw: peeked.certificate, name: servername, ca, now: now() },
    {
      certificate: "the frontend's certificate",
      consequence: "so the sidecar refuses it",
      forAnotherName: `Issue it anew with that name, or tell the sidecar the one it has: --frontend=...,servername=NAME.`,
      makeAnew: "Renew the server's --server-cert and --server-key; the server takes new files up by itself.",
      sameIssue: "Give the sidecar's --ca-cert-path the authority that signed the server's --server-cert.",
    },
  );
  return found.length > 0
    ? [...found]
    : [ok(`the sidecar reaches the frontend ${where}${isTrusted ? " and can trust it" : ""}`, evidence)];
}

export const resolution: Check<DoctorContext> = {
  id: "resolution",
  roles: ["sidecar"],
  async run({ sidecar, env }) {
    if (sidecar === undefined || typeof sidecar === "string") return [notKnown];
    const inCluster = env.KUBERNETES_SERVICE_HOST !== undefined;
    const found = sidecar.listeners.flatMap((listener) => judgeOrder(listener, inCluster));
    if (found.length > 0) return found;
    return [ok("names are looked up in an order that makes sense", ...sidecar.listeners.map(orderLine))];
  },
};

type Asked = SidecarWays["listeners"][number];

const orderLine = ({ name, order }: Asked): string => `${name}: ${order.join(", ")}`;

export function judgeOrder(listener: Asked, inCluster: boolean): Outcome[] {
  const { name, order, fallbackDirect, kubeconfig } = listener;
  const found: Outcome[] = [];
  const behind = order.slice(order.indexOf("agent") + 1);
  if (order.includes("agent") && behind.length > 0) {
    const finding = `${name} never asks ${behind.join(", ")}: agent takes every name as it is`;
    found.push(warning(finding, "Put agent last in --resolve (or resolve= of --listen).", orderLine(listener)));
  }
  if (fallbackDirect && !order.includes("cluster-dns")) {
    const finding = `${name} has a fallback that never happens: it is for when the cluster's DNS is out of reach`;
    found.push(warning(finding, "Add cluster-dns to --resolve, or leave --fallback-direct out.", orderLine(listener)));
  }
  const asksApi = order.some((one) => one === "services" || one === "cluster-dns");
  if (asksApi && (kubeconfig === "" ? !inCluster : !existsSync(kubeconfig))) {
    const what =
      kubeconfig === "" ? "this is no pod of a cluster and there is no kubeconfig" : `${kubeconfig} is not there`;
    const finding = `${name} asks the cluster for names, but ${what}`;
    found.push(wrong(finding, "Give the sidecar --kubeconfig, or use --resolve=agent.", orderLine(listener)));
  }
  return found;
}
