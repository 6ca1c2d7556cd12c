import type { BridgeModel } from "../model/model.js";

const direct = { proxyProtocol: "Direct" } as const;

/** What makes a kube-apiserver send its calls into the cluster through the socket, and nothing else. */
export function egressConfig({ protocol, paths }: BridgeModel) {
  const transport = { uds: { udsName: paths.socket.apiServer } };
  return {
    apiVersion: "apiserver.k8s.io/v1beta1",
    kind: "EgressSelectorConfiguration",
    egressSelections: [
      { name: "cluster", connection: { proxyProtocol: protocol.egress, transport } },
      { name: "controlplane", connection: direct },
      { name: "etcd", connection: direct },
    ],
  };
}
