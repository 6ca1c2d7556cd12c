import { expect, test } from "vitest";
import { dataUrlOf } from "../../../base/data-url.js";
import { secretIn, shownSource, withoutSecrets } from "./secrets.js";

const KEY = "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIB\n-----END EC PRIVATE KEY-----\n";
const filler = "x".repeat(80);
const encoded = (text: string) => Buffer.from(text + filler).toString("base64");
const percent = (text: string) => encodeURIComponent(text);

test.each([
  ["private key", "/etc/a.pem", KEY],
  ["private key", "/etc/a.pem", "-----BEGIN PRIVATE KEY-----\n"],
  ["private key", "/etc/a.json", `{"source":"data:,${percent(KEY)}"}`],
  ["private key", "/etc/a.yaml", `data:\n  tls: ${encoded(KEY)}\n`],
  ["private key", "/etc/a.json", `{"spec":"${encoded(`{"file":"${dataUrlOf(KEY + filler)}"}`)}"}`],
  ["pull secret", "/var/lib/kubelet/config.json", '{"auths": {"a.example": {"auth": "eA=="}}}'],
  ["pull secret", "/etc/a.json", '{"inner":"{\\"auths\\":{}}"}'],
  ["pull secret", "/etc/a.json", `{"source":"data:,${percent('{"auths":{}}')}"}`],
  ["kubeconfig", "/etc/a", "apiVersion: v1\ncurrent-context: admin\n"],
  ["kubeconfig", "/etc/a", '{"users":[{"user":{"client-key-data":"eA=="}}]}'],
  ["Secret", "/etc/a.yaml", "apiVersion: v1\nkind: Secret\ndata: {}\n"],
  ["Secret", "/etc/a.json", '{"apiVersion":"v1", "kind": "Secret"}'],
  ["secret by its name", "/etc/kubernetes/kubeconfig", "anything"],
  ["secret by its name", "/etc/tls/server.key", "anything"],
  [undefined, "/etc/pki/ca.crt", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"],
  [undefined, "/etc/ssh/authorized_keys", "-----BEGIN PUBLIC KEY-----\n"],
  [undefined, "/etc/a.yaml", "kind: SecretProviderClass\n"],
  [undefined, "/etc/a", encoded("nothing to hide")],
  [undefined, "/etc/motd", "hello"],
])("secretIn: %s in %s: %j", (kind, path, content) => {
  expect(secretIn(path, Buffer.from(content))).toBe(kind);
});

test.each([
  ["Environment=REGISTRY_TOKEN=abc", "Environment=REGISTRY_TOKEN=[removed]"],
  ["  password: abc", "  password: [removed]"],
  ["curl -H 'Authorization: Basic abc' x", "curl -H 'Authorization: Basic [removed]' x"],
  ["proxy=http://user:abc@p.example:1/", "proxy=http://[removed]@p.example:1/"],
  ["Bearer abc", "Bearer [removed]"],
  ["ExecStart=/usr/bin/kubelet --v=2", "ExecStart=/usr/bin/kubelet --v=2"],
  ["y".repeat(600), `${"y".repeat(500)}...`],
])("withoutSecrets shows %j as %j", (text, shown) => {
  expect(withoutSecrets(text)).toBe(shown);
});

test.each([
  ["https://a.example/x?token=abc#f", "https://a.example/x?..."],
  ["https://abc@a.example/x", "https://[hidden]@a.example/x"],
  ["data:,abc", "in the config"],
])("the source %j is shown as %j", (source, shown) => {
  expect(shownSource(source)).toBe(shown);
});
