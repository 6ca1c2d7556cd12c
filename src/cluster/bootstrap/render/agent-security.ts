/** What an agent's pod may do, and what its namespace has to allow for it. */
import type { BridgeModel } from "../model/model.js";
import { AGENT_NAME } from "../model/names.js";

const NOBODY = 65532;

const container = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ["ALL"] },
};

interface AgentSecurity {
  readonly namespaceLabels: Readonly<Record<string, string>>;
  /** Part of the pod's spec. */
  readonly pod: object;
  readonly container: object;
  /** Mode of the certificates in the pod; the default is readable by all. */
  readonly secretMode?: number;
}

export function agentSecurity({ for: topology, agentNetwork }: BridgeModel): AgentSecurity {
  const onHost = agentNetwork === "host";
  const hostNetwork = onHost
    ? // Before the network plugin is there, the cluster's DNS is not either.
      { hostNetwork: true, dnsPolicy: "Default" }
    : {};
  if (topology === "openshift") {
    return {
      // User, group and seccomp profile are the SCC's to choose; in the pod network restricted-v2 admits the pod as it is.
      // Before 4.11 a pod that names a profile itself is refused.
      namespaceLabels: onHost
        ? { ...podSecurity("privileged"), "security.openshift.io/scc.podSecurityLabelSync": "false" }
        : {},
      pod: { ...hostNetwork, ...(onHost ? { serviceAccountName: AGENT_NAME } : {}) },
      container,
    };
  }
  return {
    namespaceLabels: podSecurity(onHost ? "privileged" : "restricted"),
    pod: {
      ...hostNetwork,
      securityContext: {
        runAsNonRoot: true,
        runAsUser: NOBODY,
        runAsGroup: NOBODY,
        fsGroup: NOBODY,
        seccompProfile: { type: "RuntimeDefault" },
      },
    },
    container,
    secretMode: 0o440,
  };
}

function podSecurity(level: "privileged" | "restricted"): Record<string, string> {
  const prefix = "pod-security.kubernetes.io";
  return { [`${prefix}/enforce`]: level, [`${prefix}/warn`]: level, [`${prefix}/audit`]: level };
}
