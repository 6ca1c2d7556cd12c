import { writeFileSync } from "node:fs";
import type { BridgeLab } from "../lab/bridge/lab.js";
import { LabProcess } from "../lab/process.js";
import { toolPath } from "../lab/tools.js";

/**
 * HAProxy twice: on a node it is the load balancer in front of the servers' pods, and on the control plane's host, which
 * has no way to any pod, stands where the kube-apiserver looks for the server of its own pod.
 */
export function startBalancers(lab: BridgeLab, pods: readonly string[]): LabProcess[] {
  const [node] = lab.nodes;
  if (node === undefined) throw new Error("the load balancer needs a node to stand on");
  const start = (name: string, netns: string, sections: readonly string[]) => {
    const file = lab.scope.file(`${name}.cfg`);
    const timeouts = ["connect 2s", "client 1h", "server 1h"].map((time) => `  timeout ${time}`);
    writeFileSync(file, ["defaults", "  mode tcp", "  balance roundrobin", ...timeouts, ...sections, ""].join("\n"));
    return LabProcess.start(lab.scope, { name, netns, command: [toolPath("haproxy") ?? "haproxy", "-db", "-f", file] });
  };
  const toPods = (name: string, port: number) =>
    listen(
      name,
      `${node.address}:${port}`,
      pods.map((pod) => `${pod}:${port}`),
    );
  return [
    start("balancer", node.netns, [...toPods("callers", 8090), ...toPods("agents", 8091)]),
    start("local", lab.bs.netns, listen("callers", "127.0.0.1:8090", [`${node.address}:8090`])),
  ];
}

const listen = (name: string, bind: string, targets: readonly string[]): string[] => [
  `listen ${name}`,
  `  bind ${bind}`,
  ...targets.map((target, index) => `  server s${index} ${target}`),
];
