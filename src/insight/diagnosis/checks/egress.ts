/** Kube-apiserver and server must mean the same door. */
import { disagreements } from "../../../cluster/bootstrap/analyze/rules/agreement.js";
import { readEgress } from "../../../cluster/bootstrap/settings/egress-config.js";
import { serverSettings } from "../../../cluster/bootstrap/settings/programs.js";
import type { DoctorContext } from "../context.js";
import { type Check, ok, skipped, wrong } from "../diagnosis.js";

export const egressAgreement: Check<DoctorContext> = {
  id: "egress-config",
  roles: ["server", "bootstrap"],
  async run({ egressConfig, host, model, socket }) {
    const reading = await readEgress(egressConfig);
    if (reading.state === "absent") {
      return [
        skipped(
          `${reading.path} does not exist`,
          "Name the file of the kube-apiserver's --egress-selector-config-file with --egress-config.",
        ),
      ];
    }
    if (reading.state === "unusable") {
      return [
        wrong(
          `${reading.path} is refused by every kube-apiserver: ${reading.why}`,
          `Write it anew: drawbridge bootstrap render --for ${model.for} --part host.`,
        ),
      ];
    }
    const running = await host.running("server");
    const server = running ?? (await serverSettings(model, [socket], false, async () => []));
    const { protocol, uds, tcp } = reading.cluster;
    const says = `${reading.path}: ${protocol} at ${uds ?? tcp?.url}`;
    if (server === undefined)
      return [ok("the egress configuration is well-formed; no server is here to compare it with", says)];
    const words = [...server.flags].map(([name, value]) => `--${name}=${value}`);
    const seen = { file: server.source, text: words.join(" ") };
    const found = disagreements(
      { words, image: "", seen },
      { protocol, socket: uds ?? "", seen: { file: reading.path, text: says } },
    );
    return found.length === 0
      ? [
          ok(
            "kube-apiserver and server agree on protocol and socket",
            says,
            `${server.source}: --mode=${server.flags.get("mode") ?? "grpc"}`,
          ),
        ]
      : found.map(({ message, remedy }) => wrong(message, remedy, says, server.source));
  },
};
