/** What the logs of server, kube-apiserver and kubelet on the bootstrap host say, line by line. */
import { evidence } from "../evidence.js";
import type { Facts } from "./facts.js";

const started = /proxy-server is up|Starting frontend server for client connections/;
const agentConnected = /\bagent connected\b/i;
const refusal = /^(?:\S+ std(?:err|out) F |.*?\]: )?Error: |main\.go:\d+\] error: |failed to validate server options/;
const restarted = /Scheduled restart job, restart counter is at \d+|Main process exited, code=exited, status=[1-9]/;

export function readServerLine({ server }: Facts, file: string, text: string, line: number): void {
  if (agentConnected.test(text)) {
    server.agentConnected.add(evidence(file, text, line));
    server.firstAgentAt ??= klogTime(text);
  } else if (started.test(text)) server.started.add(evidence(file, text, line));
  else if (refusal.test(text)) server.refusal.add(evidence(file, text, line));
  else if (restarted.test(text)) server.restarted.add(evidence(file, text, line));
}

const noAgent = /No agent available/;
const noServer = /konnectivity-server\.socket.*(no such file|connection refused)/;

export function readApiServerLine({ apiServer }: Facts, file: string, text: string, line: number): void {
  if (noAgent.test(text)) {
    apiServer.noAgent.add(evidence(file, text, line));
    apiServer.lastNoAgentAt = klogTime(text) ?? apiServer.lastNoAgentAt;
  } else if (noServer.test(text)) apiServer.noServer.add(evidence(file, text, line));
}

const ofServer = /konnectivity-server/;
const crashLoop = /CrashLoopBackOff|back-off .* restarting failed container/i;
const cannotStart = /ErrImagePull|ImagePullBackOff|CreateContainerError|RunContainerError|CreateContainerConfigError/;

export function readKubeletLine({ kubelet }: Facts, file: string, text: string, line: number): void {
  if (!ofServer.test(text)) return;
  if (crashLoop.test(text)) kubelet.crashLoop.add(evidence(file, text, line));
  else if (cannotStart.test(text)) kubelet.cannotStart.add(evidence(file, text, line));
}

/** `MMDD hh:mm:ss`: comparable between programs on one host, though not over a New Year. */
function klogTime(text: string): string | undefined {
  return /\b[IWEF](\d{4} \d\d:\d\d:\d\d)\.\d/.exec(text)?.[1];
}
