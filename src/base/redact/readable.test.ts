/** What explains an installation must stay readable, byte for byte: a bundle of nothing but gaps helps nobody. */
import { createHash, generateKeyPairSync, randomBytes, randomInt, randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { certificatesFor } from "../../tunnel/pki/write-pki.js";
import { redactFile } from "./file.js";
import { redact } from "./redact.js";

const digest = (encoding: "hex" | "base64"): string => createHash("sha256").update(randomBytes(9)).digest(encoding);
const publicKey = generateKeyPairSync("rsa", { modulusLength: 2048 }).publicKey;
const sshKey = `AAAAB3NzaC1yc2EAAAADAQABAAABgQ${randomBytes(240).toString("base64")}`;

const texts: readonly (readonly [name: string, text: string, file?: string])[] = [
  ["an image digest", `image: quay.example/openshift/x@sha256:${digest("hex")}\n`, "pod.yaml"],
  ["a digest in a log", `I1116 pulled sha256:${digest("hex")} in 3s\n`],
  ["a base64 digest of a download", `integrity sha512-${createHash("sha512").update("x").digest("base64")}\n`],
  [
    "a hash of an Ignition file",
    `{"verification":{"hash":"sha512-${createHash("sha512").update("x").digest("hex")}"}}`,
    "a.json",
  ],
  ["a pin of a public key", `pin-sha256="${digest("base64")}"\n`],
  ["a pin as kubeadm writes it", `kubeadm join x --discovery-token-ca-cert-hash sha256:${digest("hex")}\n`],
  ["an SSH fingerprint", `I1116 host key SHA256:${digest("base64").replace("=", "")} seen\n`],
  ["a certificate's fingerprint", `fingerprint="${digest("hex").toUpperCase().match(/../g)?.join(":")}"\n`],
  ["a container id", `I1116 container ${digest("hex")} ended\n`],
  ["a short container id", `konnectivity-server-0123456789abc.log\n`],
  ["a commit", `drawbridge 1.2.3 (commit ${digest("hex").slice(0, 40)})\n`],
  ["a UID", `{"metadata":{"uid":"${randomUUID()}","resourceVersion":"1234567890123","generation":4}}`, "b.json"],
  ["an agent's id", `I1116 agent connected agentId="${randomUUID()}" serverId="${randomUUID()}"\n`],
  ["a reference id", `E1116 dial refused referenceId="7F3A9C01" (reference 7F3A9C01)\n`],
  ["a pod's name", `pod/konnectivity-agent-7d9f8c6b5-x2x4z on ip-10-0-137-12.us-east-2.compute.internal\n`],
  ["a path of a pod", `/var/lib/kubelet/pods/${randomUUID()}/volumes/kubernetes.io~projected/kube-api-access-x2x4z\n`],
  ["a time", `2026-11-16T15:46:07.123456789Z stderr F I1116 15:46:07.123456    4711] up\n`],
  [
    "addresses",
    `10.0.137.12:8091 [fd00:10:244::1a2b]:8090 192.0.2.0/24 unix:/etc/kubernetes/x/konnectivity-server.socket\n`,
  ],
  [
    "flags of a server",
    `proxy-server --server-count=1 --cluster-cert=/etc/k/server.crt --cluster-key=/etc/k/server.key --admin-token-file /run/t --uds-name=/run/x.socket --mode=grpc --enable-profiling=false\n`,
  ],
  [
    "a token's path",
    `--service-account-token-path=/var/run/secrets/kubernetes.io/serviceaccount/token --agent-key=/etc/konnectivity/tls.key\n`,
  ],
  [
    "a kube-apiserver's flags",
    `--service-account-signing-key-file=/etc/kubernetes/pki/sa.key --tls-private-key-file=/etc/kubernetes/pki/apiserver.key --authorization-mode=Node,RBAC --etcd-keyfile=/etc/kubernetes/pki/x.key\n`,
  ],
  [
    "the name of a Secret",
    `volumes:\n- name: certificates\n  secret:\n    secretName: konnectivity-agent-certs\n`,
    "c.yaml",
  ],
  [
    "references to Secrets",
    `env:\n- name: DB_PASSWORD\n  valueFrom:\n    secretKeyRef:\n      name: db\n      key: password\nimagePullSecrets:\n- name: pull-secret\n`,
    "d.yaml",
  ],
  [
    "switches",
    `automountServiceAccountToken: false\nenableBootstrapTokenAuth: true\nrotateCertificates: true\n`,
    "e.yaml",
  ],
  [
    "a kubelet's authorization",
    `kind: KubeletConfiguration\nauthentication:\n  anonymous: {enabled: false}\n  webhook: {enabled: true}\nauthorization:\n  mode: Webhook\n`,
    "f.yaml",
  ],
  [
    "permissions",
    `rules:\n- apiGroups: [""]\n  resources: [secrets, serviceaccounts/token]\n  verbs: [get]\n`,
    "g.yaml",
  ],
  [
    "an egress configuration",
    `kind: EgressSelectorConfiguration\negressSelections:\n- name: cluster\n  connection:\n    proxyProtocol: GRPC\n    transport:\n      uds:\n        udsName: /etc/kubernetes/config/konnectivity-server.socket\n`,
    "h.yaml",
  ],
  [
    "metrics",
    `konnectivity_network_proxy_server_ready_backend_connections{proxy_strategy="default"} 3\ndrawbridge_token_reviews_total{result="ok"} 12\nprocess_resident_memory_bytes 1.234567e+08\n`,
    "metrics.txt",
  ],
  [
    "errors of Kubernetes",
    `E1116 secrets "konnectivity-agent-certs" not found\nE1116 Secret kube-system/bootstrap-token-abcdef is missing\n`,
  ],
  [
    "errors about tokens",
    `E1116 the token: expired two hours ago\nE1116 could not read the token: open /var/run/t: no such file\n`,
  ],
  [
    "codes of errors",
    `DB_AGENT_TOKEN: The agent's token was refused by the API server.\nDB_NODE_TOKEN_EXPIRED: The user data of workers-1.\n`,
  ],
  [
    "errors of certificates",
    `x509: certificate is valid for 192.0.2.9, not 127.0.0.1; authority key id 5F:3A; signed by CN=kube-apiserver-lb-signer@1700000000\n`,
  ],
  ["an extension", `X509v3 Basic Constraints: critical CA:TRUE\nX509v3 Subject Key Identifier: A0:1B\n`],
  [
    "names of Go",
    `main.TestProxyHandle_DoneContext_GRPC k8s.io/apiserver/pkg/server/egressselector.(*EgressSelector).Lookup clientset.go:238\n`,
  ],
  [
    "a stack",
    `    at Object.readSync (node:fs:750:18)\n    at TunnelTable.openForAgentConnection (file:///usr/lib/drawbridge/dist/tunnel/table.js:41:7)\n`,
  ],
  [
    "long names",
    `validatingwebhookconfigurations.admissionregistration.k8s.io clusterrolebindings.rbac.authorization.k8s.io openshift-kube-apiserver-operator-trusted-ca-bundle\n`,
  ],
  ["versions", `4.19.0-0.nightly-2025-06-20-123456 v1.34.1+a1b2c3d Node.js v20.20.2 OpenSSL 3.0.17+quic\n`],
  ["an SSH public key", `ssh-rsa ${sshKey} core@example\n`],
  [
    "an Ignition user",
    JSON.stringify({ passwd: { users: [{ name: "core", sshAuthorizedKeys: [`ssh-rsa ${sshKey}`] }] } }),
    "user.ign",
  ],
  [
    "an Ignition file without a secret",
    JSON.stringify({
      storage: {
        files: [
          {
            path: "/etc/x",
            contents: { source: `data:;base64,${Buffer.from("net.ipv4.ip_forward = 1\n").toString("base64")}` },
          },
          { path: "/etc/y", contents: { source: "data:,overlay%0Abr_netfilter%0A" } },
        ],
      },
    }),
    "plain.ign",
  ],
  ["a public key in PEM", String(publicKey.export({ type: "spki", format: "pem" })), "pub.pem"],
  ["a public key in DER", `key=${publicKey.export({ type: "spki", format: "der" }).toString("base64")}\n`],
  [
    "managed fields",
    `{"managedFields":[{"manager":"kubectl","operation":"Apply","fieldsV1":{"f:spec":{"f:serviceAccountName":{}}}}]}`,
    "i.json",
  ],
  [
    "a dump's tunnels",
    `{"tunnels":[{"key":7,"id":3,"target":"10.0.0.1:10250","bytesToAgent":"123456789","secretsServed":3,"window":"${"A".repeat(48)}"}]}`,
    "dump.json",
  ],
  [
    "what was removed before",
    `{"token":"[removed]","a":"Bearer [removed]"} password: [removed]\n[private key removed]\n`,
  ],
  [
    "a URL",
    `GET https://api.example:6443/api/v1/namespaces/x/pods?labelSelector=app%3Dkonnectivity-agent&limit=500&continue= 200\n`,
  ],
  [
    "users of containers",
    `docker run -u 1000:1000 -p 8080:80 --user 0:0 x; ssh -p 22 core@x; mkdir -p /etc/kubernetes/manifests\n`,
  ],
  [
    "an interface",
    `2: eth0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 link/ether 02:42:ac:11:00:02 brd ff:ff:ff:ff:ff:ff inet6 fe80::42:acff:fe11:2/64\n`,
  ],
  [
    "a listing",
    `drwxrwx---. 2 0 0 60 Nov 16 15:46 drawbridge-bootstrap\nsrw-rw----. 1 0 0  0 Nov 16 15:46 konnectivity-server.socket\n`,
  ],
  [
    "a script",
    `token_file=/run/t\nif [[ -n $TOKEN ]]; then echo "set" >&2; fi\ncurl --fail -w '%{http_code}' -o /dev/null -p -x https://SERVER:8090 http://ENDPOINT/\n`,
    "x.sh",
  ],
  [
    "a MAC and a serial number",
    `serial 5f:3a:9c:01:7f:3a:9c:01 machine-id ${digest("hex").slice(0, 32)} boot ${randomUUID()}\n`,
  ],
];

describe("stays as it is", () => {
  let certificate = "";
  beforeAll(async () => {
    const { leaves } = await certificatesFor("bootstrap", { ipAddresses: ["192.0.2.1"] });
    certificate = leaves.get("server")!.certificatePem;
  });

  test("the corpus has at least forty forms", () => {
    expect(texts.length).toBeGreaterThanOrEqual(40);
  });

  test.each(texts.map(([name, text, file = "some.log"]) => [name, text, file] as const))("%s", (_, text, file) => {
    const redacted = redactFile(`config/${file}`, Buffer.from(text));
    expect(redacted.state === "kept" ? redacted.content.toString() : redacted.why).toBe(text);
  });

  test("a certificate: in PEM, cut off, in a log, in base64, in JSON, in YAML, in DER", () => {
    const base64 = Buffer.from(certificate).toString("base64");
    const der = certificate.replace(/-----[^-]*-----|\s/g, "");
    for (const text of [
      certificate,
      `before\n${certificate}after\n`,
      `${certificate}${certificate}`,
      certificate.slice(0, 400),
      certificate.replace(/^/gm, "2026-11-16T00:00:00Z stderr F "),
      `caBundle: ${base64}\n`,
      JSON.stringify({ webhooks: [{ clientConfig: { caBundle: base64 } }], pem: certificate }),
      stringify({ data: { "ca.crt": certificate } }),
      `certificate ${der}\n`,
      `seen: ${der}\n`,
    ]) {
      const redacted = redactFile("x.txt", Buffer.from(text));
      expect(redacted.state === "kept" ? redacted.content.toString() : redacted.why).toBe(text);
    }
  });

  test("everything around a secret", () => {
    const text = `I1116 before\nW1116 login with password=${"x".repeat(3)}.yz agent="a1"\nI1116 after\n`;
    const redacted = redactFile("some.log", Buffer.from(text));
    expect(redacted.state === "kept" && redacted.content.toString()).toBe(
      `I1116 before\nW1116 login with password=[removed] agent="a1"\nI1116 after\n`,
    );
  });
});

test("letters and digits drawn at random are hardly ever taken for words", () => {
  const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
  const drawn = (length: number) => Array.from({ length }, () => letters[randomInt(letters.length)]).join("");
  const seen = Array.from({ length: 20_000 }, () => drawn(32)).filter((text) =>
    redact(`value ${text} seen`).includes(text),
  );
  expect(seen.length, seen.join(" ")).toBeLessThan(20);
});

test("long names made of words and digits stay", () => {
  for (const name of [
    "GetObjectByHeapObjectIdReturnType",
    "SetPauseOnExceptionsParameterType",
    "ED448KeyPairKeyObjectOptions",
    "drawbridge/v1/refusals/XXXXXXXX",
  ])
    expect(redact(`value ${name} seen`)).toContain(name);
});
