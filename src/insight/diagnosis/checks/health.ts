/** What the program on this host says of itself. */

import { messageOf } from "../../../base/errors/error.js";
import { httpGet } from "../../../base/http-get.js";
import type { DoctorContext, RunningProgram } from "../context.js";
import { type Check, type Outcome, ok, roles, skipped, warning, wrong } from "../diagnosis.js";
import { healthPortOf } from "../own-port.js";
import { type Program, programOf, titles } from "../program.js";

export const health: Check<DoctorContext> = {
  id: "health",
  roles: roles.filter((role) => programOf(role) !== undefined),
  async run({ host, role, ports }) {
    const program = programOf(role) ?? "server";
    const title = titles[program];
    const running = await host.running(program);
    if (running === undefined) {
      return [warning(`no ${title} runs in this network`, startWith[role === "bootstrap" ? "bootstrap" : program])];
    }
    const own = healthPortOf(program, running, ports.health);
    if (own === undefined) {
      return [skipped(`the ${title} has no health port`, "Start it with --health-port to see whether it is ready.")];
    }
    return [await ask(program, `http://${own.text}/${program === "ignition" ? "metrics" : "readyz"}`, running)];
  },
};

const startWith: Readonly<Record<Program | "bootstrap", string>> = {
  bootstrap: "Look at /etc/kubernetes/manifests/konnectivity-server-pod.yaml and at the kubelet's journal.",
  server: "Start it: drawbridge bootstrap up, or the unit drawbridge-bootstrap-server.service.",
  agent: "Look at the DaemonSet: kubectl get pods -A -l app=konnectivity-agent -o wide.",
  sidecar: "Start drawbridge sidecar here, or name another place with --role.",
  ignition: "Start drawbridge ignition serve here, or look at its Deployment: kubectl get pods -A.",
  nodepool: "Start drawbridge nodepool controller here, or look at its Deployment: kubectl get pods -A.",
  approver: "Start drawbridge csr approver here, or look at its Deployment: kubectl get pods -A.",
};

const whyUnready: Readonly<Record<Program, string>> = {
  server:
    "No agent is connected: look at the agents' logs, and whether nodes reach TCP 8091 (drawbridge firewall plan).",
  agent: "It has no server: see the check server-reachable and its own log.",
  sidecar:
    "Its probe does not get through to an agent: see the check frontend, then drawbridge doctor beside the server.",
  ignition: "Read its log.",
  nodepool: "It cannot list the pools: see its log, and that its kubeconfig and rights are there (nodepool install).",
  approver: "Do what the answer says; drawbridge csr list shows the requests that wait.",
};

async function ask(program: Program, url: string, running: RunningProgram): Promise<Outcome> {
  const title = titles[program];
  try {
    const { status, body } = await httpGet(url);
    const answer = `${url} answered ${status} ${body.trim().split("\n").at(-1)}`;
    if (status === 200) return program === "ignition" ? ok(`the ${title} is up`) : ok(`the ${title} is ready`, answer);
    const first = running.flags.get("proxy-strategies") ?? "";
    if (program === "server" && first.startsWith("destHost,")) {
      return warning(
        "the proxy-server cannot become ready: only agents of its first strategy, destHost, would count",
        "Start it with --proxy-strategies=defaultRoute; tunnels work either way.",
        answer,
        running.source,
      );
    }
    return wrong(`the ${title} is not ready`, whyUnready[program], answer);
  } catch (reason) {
    return wrong(
      `the ${title} runs but does not answer on ${url}`,
      "Give its health port with --health-port, or read its log.",
      messageOf(reason),
    );
  }
}
