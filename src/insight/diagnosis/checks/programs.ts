/** The program on this host: whether it is ready, and whether its settings work. */
import { failed, type Judgement, ok, skipped, warning } from "../../../base/finding.js";
import { defineCheck } from "../check.js";
import type { Facts, NameResolution } from "../facts.js";
import { healthFlagOf, PROGRAMS } from "../programs.js";

const ON_BOOTSTRAP = "Look at /etc/kubernetes/manifests/konnectivity-server-pod.yaml and at the kubelet's journal.";

export const running = defineCheck({
  ...{ id: "health", about: "The program runs and is ready" },
  ...{ needs: ["program", "role"], uses: ["health", "serverFlags", "overview"] },
  judge: (facts) => [judgeHealth(facts), ...notLookedAt(facts.program)],
});

function notLookedAt({ running, title }: Facts["program"]): Judgement[] {
  const { others = [], pid } = running ?? {};
  if (others.length === 0) return [];
  const message = `this is about the ${title} of process ${pid}; ${others.length} more run here: ${others.join(", ")}`;
  return [skipped(message, "Name the process to look at with --pid.")];
}

interface HealthFacts extends Pick<Facts, "program" | "role"> {
  readonly health: Facts["health"] | undefined;
  readonly serverFlags: Facts["serverFlags"] | undefined;
  readonly overview: Facts["overview"] | undefined;
}

/** What our server says while agents are connected; upstream's does not tell that apart. */
const LACKING = /identifiers that the strategy (.+) looks for \(--readiness=(agents|all|path)\)/;

function judgeHealth({
  program: { kind, running: process, title, start: usualStart },
  role,
  health,
  serverFlags,
  overview,
}: HealthFacts): Judgement {
  const start = role === "bootstrap" ? ON_BOOTSTRAP : usualStart;
  if (process === undefined && health === undefined) return warning(`no ${title} runs in this network`, start);
  if (health === undefined) {
    const remedy = `Start it with --${healthFlagOf(kind)} to see whether it is ready.`;
    return skipped(`the ${title} has no health port`, remedy);
  }
  const { answer, url } = health;
  if (typeof answer === "string") {
    const remedy = `${start} If it runs, read its log, or give its health port with --health-port (--health of bootstrap verify).`;
    const message = `the ${title} ${process === undefined ? "does" : "runs but does"} not answer on ${url}`;
    return failed(message, remedy, answer);
  }
  const line = `${url} answered ${answer.status} ${answer.body.trim().split("\n").at(-1)}`;
  if (answer.status === 200 && overview?.process.draining === true)
    return ok(`the ${title} is ready, and drains: see draining`, line);
  if (answer.status === 200) return kind === "ignition" ? ok(`the ${title} is up`) : ok(`the ${title} is ready`, line);
  if (answer.status === 404) {
    const remedy = `Give the port of its --${healthFlagOf(kind)} with --health-port.`;
    return failed(`${url} is not the health port of the ${title}: it does not know that path`, remedy, line);
  }
  const lacking = LACKING.exec(answer.body);
  if (lacking !== null) {
    const message = `the ${title} is not ready: no connected agent has the identifiers that the strategy ${lacking[1]} looks for, and --readiness=${lacking[2]} asks for that`;
    const remedy =
      "Start the server with --readiness=any, which asks for agents of one strategy alone, or start the agents that this strategy is for; --agent-identifiers has what an agent claims (host=, ipv4=, cidr= or default-route=true).";
    return warning(message, remedy, line, serverFlags?.source ?? "");
  }
  const strategies = serverFlags?.flags.get("proxy-strategies") ?? "";
  const isFirstAsked = (serverFlags?.flags.get("readiness") ?? "agents") === "agents";
  const isAlone = overview?.agents?.length === 0;
  if (kind === "server" && strategies.startsWith("destHost,") && isFirstAsked && !isAlone) {
    const message =
      "the proxy-server is not ready: only agents of its first strategy, destHost, count, and no connected agent claims a host";
    const remedy =
      "Start the server with --readiness=any; upstream's has no such flag, so have /healthz probed instead of its /readyz. If no agent is connected at all, look at the agents first: drawbridge doctor beside one says what keeps it away.";
    return warning(message, remedy, line, serverFlags?.source ?? "");
  }
  return failed(`the ${title} is not ready`, PROGRAMS[kind].unready(serverFlags?.flags.get("agent-port")), line);
}

/** The same that the program warns of at its start: its log may be gone, and files change. */
export const settings = defineCheck({
  ...{ id: "settings", about: "The files and flags that the program was started with are in order" },
  needs: ["startWarnings", "program"],
  judge({ startWarnings, program: { title } }) {
    if (startWarnings.length === 0) return ok(`the keys, token files and flags of the ${title} are in order`);
    return startWarnings.map(({ code, message, remedy }) => ({ ...warning(message, remedy), code }));
  },
});

export const nameResolution = defineCheck({
  ...{ id: "resolution", about: "The sidecar resolves names in an order that works", needs: ["nameResolution"] },
  judge({ nameResolution: listeners }) {
    const found = listeners.flatMap(judgeOrder);
    if (found.length > 0) return found;
    return ok("names are resolved in an order that works", ...listeners.map(orderLine));
  },
});

const orderLine = ({ name, order }: NameResolution): string => `${name}: ${order.join(", ")}`;

function judgeOrder(listener: NameResolution): Judgement[] {
  const { name, order, fallbackDirect, hasCluster, kubeconfig } = listener;
  const found: Judgement[] = [];
  const behind = order.slice(order.indexOf("agent") + 1);
  if (order.includes("agent") && behind.length > 0) {
    const message = `${name} never asks ${behind.join(", ")}: agent takes every name as it is`;
    found.push(warning(message, "Put agent last in --resolve (or resolve= of --listen).", orderLine(listener)));
  }
  if (fallbackDirect && !order.includes("cluster-dns")) {
    const message = `${name} has a fallback that never happens: it is for when the cluster's DNS is out of reach`;
    found.push(warning(message, "Add cluster-dns to --resolve, or leave --fallback-direct out.", orderLine(listener)));
  }
  if (order.some((each) => each === "services" || each === "cluster-dns") && !hasCluster) {
    const what =
      kubeconfig === "" ? "this is no pod of a cluster and there is no kubeconfig" : `${kubeconfig} does not exist`;
    const message = `${name} asks the cluster for names, but ${what}`;
    found.push(failed(message, "Give the sidecar --kubeconfig, or use --resolve=agent.", orderLine(listener)));
  }
  return found;
}
