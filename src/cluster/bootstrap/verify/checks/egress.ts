/** Do the kube-apiserver and the server mean the same door, and was the kube-apiserver told about it? */
import { type Check, fail, type Outcome, pass, skip } from "../../../../base/check.js";
import type { Bridge } from "../bridge.js";

const FLAG = "egress-selector-config-file";

export function egressChecks(bridge: Bridge): Check[] {
  return [
    {
      id: "egress-config",
      title: "The egress configuration names the server's protocol and socket",
      run: async () => egressConfig(bridge),
    },
    { id: "api-server-flag", title: "The kube-apiserver uses the egress configuration", run: async () => told(bridge) },
  ];
}

function egressConfig(bridge: Bridge): Outcome {
  const { egress, server, model } = bridge;
  const anew = `Write it anew with drawbridge bootstrap render --for ${model.for} --part host and restart the kube-apiserver.`;
  if (egress.state === "absent") {
    const remedy = `Name the file of the kube-apiserver's --${FLAG} with --egress-config. ${anew}`;
    return fail(`${egress.path} does not exist`, remedy);
  }
  if (egress.state === "unusable") return fail(`${egress.path}: ${egress.why}`, anew);
  const { protocol, uds, tcp } = egress.cluster;
  const says = `${egress.path} says ${protocol} at ${uds ?? tcp?.url}`;
  if (server === undefined) {
    return pass(`${says}; the server's own flags cannot be seen here, the check front-door asks the server itself`);
  }
  const mode = server.flags.get("mode") ?? "grpc";
  const wanted = protocol === "GRPC" ? "grpc" : "http-connect";
  if (mode !== wanted) {
    const remedy = `Start the server with --mode=${wanted}, or change proxyProtocol in ${egress.path} and restart the kube-apiserver.`;
    return fail(`${says}, but ${server.source} has --mode=${mode}`, remedy);
  }
  if (uds === undefined) return pass(`${says}, as ${server.source} has it`);
  const socket = server.flags.get("uds-name") ?? "";
  if (!isSame(bridge, uds, socket)) {
    const remedy = `Start the server with --uds-name=${uds}, or change udsName in ${egress.path} and restart the kube-apiserver.`;
    return fail(`${says}, but ${server.source} has --uds-name=${socket}`, remedy);
  }
  return pass(`${says}, as ${server.source} has it`);
}

/** On OpenShift both sides know one directory by different names. */
function isSame({ model }: Bridge, ofApiServer: string, ofServer: string): boolean {
  const { socket } = model.paths;
  return ofApiServer === ofServer || (ofApiServer === socket.apiServer && ofServer === socket.server);
}

function told({ apiServer, egress, model }: Bridge): Outcome {
  const { running, manifest } = apiServer;
  const seen = running ?? manifest;
  const expected = egress.path === model.paths.egressConfig.host ? model.paths.egressConfig.apiServer : egress.path;
  if (seen === undefined) {
    return skip(
      "no kube-apiserver runs in this host's network and no manifest of it is here",
      `Run it on the kube-apiserver's host, or look yourself for --${FLAG}=${expected}.`,
    );
  }
  const value = seen.flags.get(FLAG);
  const place = manifest?.source ?? "the kube-apiserver's command";
  if (value === undefined) {
    const restart = running !== undefined && manifest?.flags.has(FLAG);
    return restart
      ? fail(`${running.source} has no --${FLAG}, although ${place} has it`, "Restart the kube-apiserver.")
      : fail(
          `${seen.source} has no --${FLAG}`,
          `Add --${FLAG}=${expected} to ${place} and restart the kube-apiserver.`,
        );
  }
  if (value !== expected) {
    const remedy = `Set --${FLAG}=${expected} in ${place}, or verify the file it uses with --egress-config=${value}.`;
    return fail(`${seen.source} has --${FLAG}=${value}, not ${expected}`, remedy);
  }
  return pass(`${seen.source} has --${FLAG}=${value}`);
}
