/** What a payload is made of, for tests. */
import { stringify } from "yaml";
import type { PayloadInputs } from "../compose.js";

export const caPem = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";

export const bootstrapKubeconfig = stringify({
  apiVersion: "v1",
  kind: "Config",
  clusters: [
    {
      name: "hosted",
      cluster: {
        server: "https://api.example:6443",
        "certificate-authority-data": Buffer.from(caPem).toString("base64"),
      },
    },
  ],
  users: [{ name: "bootstrap", user: { token: "bootstrap-secret" } }],
  contexts: [{ name: "hosted", context: { cluster: "hosted", user: "bootstrap" } }],
  "current-context": "hosted",
});

export const pullSecret = '{"auths":{"registry.example":{"auth":"dGVzdDp0ZXN0"}}}';

/** A small MachineConfig as OpenShift's renderer writes them. */
export const renderedMachineConfig = stringify({
  apiVersion: "machineconfiguration.openshift.io/v1",
  kind: "MachineConfig",
  metadata: { name: "rendered-worker-1" },
  spec: {
    config: {
      ignition: { version: "3.2.0" },
      storage: { files: [{ path: "/etc/kubernetes/kubelet.conf", mode: 0o644, contents: { source: "data:,a" } }] },
      systemd: {
        units: [{ name: "kubelet.service", enabled: true, contents: "[Install]\nWantedBy=multi-user.target\n" }],
      },
    },
    kernelArguments: ["nosmt"],
    osImageURL: "registry.example/os@sha256:1",
  },
});

export const sshMachineConfig = stringify({
  apiVersion: "machineconfiguration.openshift.io/v1",
  kind: "MachineConfig",
  metadata: { name: "99-worker-ssh" },
  spec: {
    config: {
      ignition: { version: "3.2.0" },
      passwd: { users: [{ name: "core", sshAuthorizedKeys: ["ssh-rsa AAAA"] }] },
    },
  },
});

export const fipsMachineConfig = stringify({
  apiVersion: "machineconfiguration.openshift.io/v1",
  kind: "MachineConfig",
  metadata: { name: "30-fips" },
  spec: { fips: true },
});

export const payloadInputs: PayloadInputs = {
  bootstrapKubeconfig,
  pullSecret,
  trustBundle: caPem,
  rawConfig: "",
  registration: "",
};
