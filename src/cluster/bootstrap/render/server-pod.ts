import { serverArguments } from "../model/arguments.js";
import type { BridgeModel } from "../model/model.js";
import { bootstrapOnlyLabel, SERVER_NAME, SERVER_NAMESPACE } from "../model/names.js";
import { probes } from "./probes.js";

/** The server as a static pod, which the kubelet runs without asking an API server. */
export function serverPod(model: BridgeModel) {
  const { images, paths, ports } = model;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: SERVER_NAME,
      namespace: SERVER_NAMESPACE,
      labels: { app: SERVER_NAME, ...bootstrapOnlyLabel },
    },
    spec: {
      hostNetwork: true,
      priorityClassName: "system-node-critical",
      containers: [
        {
          name: SERVER_NAME,
          image: images.server.image,
          imagePullPolicy: "IfNotPresent",
          command: images.server.command,
          args: serverArguments(model),
          resources: images.resources,
          ...probes(ports.serverHealth),
          securityContext: securityContext(model),
          volumeMounts: [
            { name: "socket", mountPath: paths.socketDirectory.server },
            { name: "certificates", mountPath: paths.pki.server, readOnly: true },
          ],
        },
      ],
      volumes: [
        { name: "socket", hostPath: { path: paths.socketDirectory.host, type: "DirectoryOrCreate" } },
        { name: "certificates", hostPath: { path: paths.pki.host, type: "Directory" } },
      ],
    },
  };
}

/**
 * Root, because it makes a socket in a directory of root's and reads root's key; nothing more of root's powers. Where
 * SELinux rules, the directory may not be labelled for containers yet when the pod first starts: spc_t is not held up by
 * that, and unlike a privileged pod it gets no devices and no capabilities.
 */
function securityContext({ server }: BridgeModel) {
  return {
    runAsUser: 0,
    // The socket's group.
    runAsGroup: server.socketGroup,
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ["ALL"] },
    seLinuxOptions: { type: "spc_t" },
    seccompProfile: { type: "RuntimeDefault" },
  };
}
