/** Kube-apiserver and server must mean the same protocol and socket. */
import { failed, type Judgement, ok } from "../../../base/finding.js";
import type { EgressReading } from "../../../cluster/bootstrap/settings/egress-config.js";
import type { CommandLine } from "../../../cluster/bootstrap/settings/programs.js";
import { defineCheck } from "../check.js";

export const egressAgreement = defineCheck({
  ...{ id: "egress-config", about: "Kube-apiserver and server agree on protocol and socket" },
  ...{ needs: ["egress"], uses: ["serverFlags", "model"] },
  judge({ egress, serverFlags, model }) {
    const again = `Write it again: drawbridge bootstrap render${model === undefined ? "" : ` --for-platform ${model.for}`} --part host, and restart the kube-apiserver.`;
    if (egress.state === "absent") {
      const remedy = "Name the file of the kube-apiserver's --egress-selector-config-file with --egress-config.";
      return failed(`${egress.path} does not exist`, `${remedy} ${again}`);
    }
    if (egress.state === "unusable")
      return failed(`${egress.path} is refused by every kube-apiserver: ${egress.why}`, again);
    return judgeAgreement(egress, serverFlags);
  },
});

const modes = { GRPC: "grpc", HTTPConnect: "http-connect" } as const;

function judgeAgreement(
  { path, cluster: { protocol, uds, tcp } }: Extract<EgressReading, { state: "read" }>,
  server: CommandLine | undefined,
): Judgement[] {
  const selection = `${path}: ${protocol} at ${uds ?? tcp?.url}`;
  if (server === undefined)
    return [ok("the egress configuration is well-formed; no server is here to compare it with", selection)];
  const [mode, socket] = [server.flags.get("mode") ?? "grpc", server.flags.get("uds-name") ?? ""];
  const evidence = [selection, `${server.source}: --mode=${mode}${socket === "" ? "" : ` --uds-name=${socket}`}`];
  const found: Judgement[] = [];
  if (modes[protocol] !== mode) {
    found.push({
      ...failed(
        `the kube-apiserver speaks ${protocol} to a server that runs with --mode=${mode}`,
        `Start the server with --mode=${modes[protocol]}, or write proxyProtocol ${mode === "grpc" ? "GRPC" : "HTTPConnect"} into the egress configuration and restart the kube-apiserver.`,
        ...evidence,
      ),
      likelihood: "certain",
    });
  }
  if (socket !== "" && uds !== undefined && !isSameSocket(socket, uds)) {
    const remedy = "Give both the same socket: --uds-name of the server, udsName of the egress configuration.";
    const message = `the server listens on ${socket}, the kube-apiserver dials ${uds}`;
    found.push({ ...failed(message, remedy, ...evidence), likelihood: "certain" });
  }
  return found.length > 0 ? found : [ok("kube-apiserver and server agree on protocol and socket", ...evidence)];
}

/** On an OpenShift bootstrap host one directory has two names. */
function isSameSocket(ofServer: string, ofApiServer: string): boolean {
  const bootstrap = "/etc/kubernetes/bootstrap-configs/";
  return ofServer === ofApiServer || ofServer.replace(bootstrap, "/etc/kubernetes/config/") === ofApiServer;
}
