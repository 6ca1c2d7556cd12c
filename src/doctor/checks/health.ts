/** What the program on this host says of itself. */
import { getText } from "../../bootstrap/verify/http-get.js";
import { messageOf } from "../../errors/error.js";
import type { DoctorContext, RunningProgram } from "../context.js";
import { type Check, type Outcome, ok, warning, wrong } from "../diagnosis.js";

export const health: Check<DoctorContext> = {
  id: "health",
  roles: ["server", "agent", "bootstrap"],
  async run({ host, role, ports }) {
    const program = role === "agent" ? "agent" : "server";
    const running = await host.running(program);
    if (running === undefined) {
      return [
        warning(`no proxy-${program} runs in this network`, startWith[role === "bootstrap" ? "bootstrap" : program]),
      ];
    }
    const port = portOf(running, program) ?? ports.health;
    return [await ask(program, `http://127.0.0.1:${port}/readyz`, running)];
  },
};

const startWith = {
  bootstrap: "Look at /etc/kubernetes/manifests/konnectivity-server-pod.yaml and at the kubelet's journal.",
  server: "Start it: drawbridge bootstrap up, or the unit drawbridge-bootstrap-server.service.",
  agent: "Look at the DaemonSet: kubectl get pods -A -l app=konnectivity-agent -o wide.",
} as const;

function portOf({ flags }: RunningProgram, program: "server" | "agent"): number | undefined {
  const told = Number(flags.get(program === "server" ? "health-port" : "health-server-port"));
  return Number.isInteger(told) && told > 0 ? told : undefined;
}

async function ask(program: "server" | "agent", url: string, running: RunningProgram): Promise<Outcome> {
  try {
    const { status, body } = await getText(url, AbortSignal.timeout(6_000));
    const answer = `${url} answered ${status} ${body.trim().split("\n").at(-1)}`;
    if (status === 200) return ok(`the proxy-${program} is ready`, answer);
    const first = running.flags.get("proxy-strategies") ?? "";
    if (program === "server" && first.startsWith("destHost,")) {
      return warning(
        "the proxy-server cannot become ready: only agents of its first strategy, destHost, would count",
        "Start it with --proxy-strategies=defaultRoute; tunnels work either way.",
        answer,
        running.source,
      );
    }
    const remedy =
      program === "server"
        ? "No agent is connected: look at the agents' logs, and whether nodes reach TCP 8091 (drawbridge firewall plan)."
        : "It has no server: see the check server-reachable and its own log.";
    return wrong(`the proxy-${program} is not ready`, remedy, answer);
  } catch (reason) {
    return wrong(
      `the proxy-${program} runs but does not answer on ${url}`,
      "Give its health port with --health-port, or read its log.",
      messageOf(reason),
    );
  }
}
