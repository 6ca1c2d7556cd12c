/** Every hash that HyperShift's own unit tests name: hypershift-operator/controllers/nodepool/config_test.go. */

const MACHINE_CONFIG = `
apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata:
  labels:
    machineconfiguration.openshift.io/role: master
  name: config-1
spec:
  config:
    ignition:
      version: 3.2.0
    storage:
      files:
      - contents:
        source: "[Service]\\nType=oneshot\\nExecStart=/usr/bin/echo Hello World\\n\\n[Install]\\nWantedBy=multi-user.target"
        filesystem: root
        mode: 493
        path: /usr/local/bin/file1.sh
`;

const RUNC = `apiVersion: machineconfiguration.openshift.io/v1
kind: ContainerRuntimeConfig
metadata:
  name: set-runc
spec:
  containerRuntimeConfig:
    defaultRuntime: runc
`;

interface PoolVector {
  readonly version: string;
  /** Default: `pull-secret`. */
  readonly pullSecret?: string;
  readonly trustBundle?: string;
  /** `spec.osImageStream.name`. */
  readonly stream?: string;
  /** The key `config` of the ConfigMap that `spec.config` names. */
  readonly config?: string;
  readonly full: string;
  readonly withoutVersion: string;
}

/** TestNewConfigGenerator: whole pools. */
export const poolVectors: readonly PoolVector[] = [
  { version: "4.18.0", full: "83935368", withoutVersion: "0db5756d" },
  { version: "4.18.0", config: MACHINE_CONFIG, full: "af67f27c", withoutVersion: "fef02451" },
  { version: "4.18.0", stream: "rhel-9", full: "83935368", withoutVersion: "0db5756d" },
  { version: "5.0.0", stream: "rhel-9", full: "3d08ada8", withoutVersion: "3a158178" },
  { version: "5.0.0", full: "bc411add", withoutVersion: "0db5756d" },
  { version: "5.0.0", stream: "rhel-10", full: "bc411add", withoutVersion: "0db5756d" },
  { version: "5.0.0", stream: "rhel-9", config: RUNC, full: "ff007b24", withoutVersion: "6d5a7b66" },
  { version: "5.0.0", config: RUNC, full: "ff007b24", withoutVersion: "6d5a7b66" },
  {
    ...{ version: "4.18.0", config: MACHINE_CONFIG, pullSecret: "pull-secret-2" },
    ...{ trustBundle: "additional-trust-bundle", full: "632801f8", withoutVersion: "71375893" },
  },
];

const base = {
  ...{ rawConfig: "test config", releaseVersion: "4.7.0", pullSecretName: "pull-secret" },
  ...{ trustBundleName: "trust-bundle", globalConfig: "global config", stream: "" },
};

/** TestHash and TestHashWithoutVersion: one input differs. */
export const inputVectors = [
  [base, "bb196408", "85234650"],
  [{ ...base, releaseVersion: "4.8.0" }, "27bb7699", "85234650"],
  [{ ...base, rawConfig: "different" }, "25f99ac5", "5ea671c5"],
  [{ ...base, pullSecretName: "different" }, "d0d6f6e9", "f6e82eb7"],
  [{ ...base, trustBundleName: "different" }, "42d42744", "935c3492"],
  [{ ...base, globalConfig: "different" }, "e916ddfe", "85234650"],
  [{ ...base, stream: "rhel-10" }, "2dbbd41b", "671fe083"],
] as const;

const EMPTY_PROXY =
  '{"metadata":{"name":"cluster","creationTimestamp":null},"spec":{"trustedCA":{"name":""}},"status":{}}\n';
const EMPTY_IMAGE =
  '{"metadata":{"name":"cluster","creationTimestamp":null},"spec":{"additionalTrustedCA":{"name":""},"registrySources":{}},"status":{}}\n';

const custom = { ciphers: ["TLS_AES_128_GCM_SHA256"], minTLSVersion: "VersionTLS13" };

/** TestGlobalConfigString: the cluster's configuration as it is hashed. */
export const globalConfigVectors = [
  [{}, "4.18.0", EMPTY_PROXY + EMPTY_IMAGE],
  [{ apiServer: {}, authentication: {}, featureGate: {}, image: {}, proxy: {} }, "4.18.0", EMPTY_PROXY + EMPTY_IMAGE],
  [
    {
      ...{ apiServer: {}, authentication: {}, featureGate: {} },
      image: {
        ...{ allowedRegistriesForImport: [], externalRegistryHostnames: ["external registry"] },
        ...{ additionalTrustedCA: { name: "" }, registrySources: {} },
      },
      proxy: {
        ...{ httpProxy: "proxy", httpsProxy: "", noProxy: "noProxy" },
        ...{ readinessEndpoints: [], trustedCA: { name: "" } },
      },
    },
    "4.18.0",
    '{"metadata":{"name":"cluster","creationTimestamp":null},"spec":{"httpProxy":"proxy","noProxy":"noProxy","trustedCA":{"name":""}},"status":{"httpProxy":"proxy","noProxy":".cluster.local,.local,.svc,127.0.0.1,localhost,noProxy"}}\n' +
      '{"metadata":{"name":"cluster","creationTimestamp":null},"spec":{"externalRegistryHostnames":["external registry"],"additionalTrustedCA":{"name":""},"registrySources":{}},"status":{}}\n',
  ],
  [{}, "4.23.0", `${EMPTY_PROXY}${EMPTY_IMAGE}null\n`],
  [
    { apiServer: { tlsSecurityProfile: { type: "Custom", custom }, encryption: { type: "aescbc" } } },
    "4.23.0",
    `${EMPTY_PROXY}${EMPTY_IMAGE}{"type":"Custom","custom":{"ciphers":["TLS_AES_128_GCM_SHA256"],"minTLSVersion":"VersionTLS13"}}\n`,
  ],
  [{}, "4.23.0-0.ci-2026-08-11-110857", `${EMPTY_PROXY}${EMPTY_IMAGE}null\n`],
] as const;
