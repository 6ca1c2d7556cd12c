/** What the logs of server, kube-apiserver and kubelet on the bootstrap host say, line by line. */
import { evidence } from "../evidence.js";
import type { Facts } from "./facts.js";

const STARTED = /proxy-server is up|Starting frontend server for client connections/;
const AGENT_CONNECTED = /\bagent connected\b/i;
const REFUSAL = /^(?:\S+ std(?:err|out) F |.*?\]: )?Error: |main\.go:\d+\] error: |failed to validate server options/;
const RESTARTED = /Scheduled restart job, restart counter is at \d+|Main process exited, code=exited, status=[1-9]/;

export function readServerLine({ server }: Facts, file: string, text: string, line: number): void {
  if (AGENT_CONNECTED.test(text)) {
    server.agentConnected.add(evidence(file, text, line));
    server.firstAgentAt ??= klogTime(text);
  } else if (STARTED.test(text)) server.started.add(evidence(file, text, line));
  else if (REFUSAL.test(text)) server.refusal.add(evidence(file, text, line));
  else if (RESTARTED.test(text)) server.restarted.add(evidence(file, text, line));
}

const NO_AGENT = /No agent available/;
const NO_SERVER = /konnectivity-server\.socket.*(no such file|connection refused)/;

export function readApiServerLine({ apiServer }: Facts, file: string, text: string, line: number): void {
  if (NO_AGENT.test(text)) {
    apiServer.noAgent.add(evidence(file, text, line));
    apiServer.lastNoAgentAt = klogTime(text) ?? apiServer.lastNoAgentAt;
  } else if (NO_SERVER.test(text)) apiServer.noServer.add(evidence(file, text, line));
}

const OF_SERVER = /konnectivity-server/;
const CRASH_LOOP = /CrashLoopBackOff|back-off .* restarting failed container/i;
const CANNOT_START = /ErrImagePull|ImagePullBackOff|CreateContainerError|RunContainerError|CreateContainerConfigError/;

export function readKubeletLine({ kubelet }: Facts, file: string, text: string, line: number): void {
  if (!OF_SERVER.test(text)) return;
  if (CRASH_LOOP.test(text)) kubelet.crashLoop.add(evidence(file, text, line));
  else if (CANNOT_START.test(text)) kubelet.cannotStart.add(evidence(file, text, line));
}

/** `MMDD hh:mm:ss`: comparable between programs on one host, though not over a New Year. */
function klogTime(text: string): string | undefined {
  return /\b[IWEF](\d{4} \d\d:\d\d:\d\d)\.\d/.exec(text)?.[1];
}
