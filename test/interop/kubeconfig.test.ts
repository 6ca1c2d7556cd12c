/** Kubeconfigs as kubectl reads them and as we do: what an API server sees of either must be the same. */
import { spawn } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer as createProxy, type Server, type ServerResponse } from "node:http";
import net, { type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { TLSSocket } from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { requirePeer } from "../../peers/index.js";
import { createKubeApi } from "../../src/cluster/kube/client.js";
import { kubeconfigEndpoint } from "../../src/cluster/kube/kubeconfig/endpoint.js";
import { ApiStub, reply, type StubRequest } from "../../src/cluster/kube/testing/api-stub.js";
import { createAuthority, issueCertificate } from "../../src/tunnel/pki/issue.js";

const kubectl = requirePeer("kubectl");

interface Case {
  readonly name: string;
  /** File name to contents; all of them in one folder. */
  readonly files: Readonly<Record<string, object | string>>;
  /** What KUBECONFIG holds, as names of files. */
  readonly paths: readonly string[];
  readonly context?: string;
  /** Whether there is an answer; by default there is. */
  readonly fails?: true;
}

let dir: string;
let api: ApiStub;
let stranger: ApiStub;
let proxy: Server;
let tunnelled = 0;
/** Of the last request's client. */
let certificate = "";
const material = { ca: "", cert: "", key: "" };

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "drawbridge-kubeconfig-"));
  const authority = await createAuthority({ commonName: "cluster" });
  const names = { dnsNames: ["api.test"], ipAddresses: ["127.0.0.1"] };
  const server = await issueCertificate(authority, { use: "server", commonName: "api", ...names });
  const client = await issueCertificate(authority, { use: "client", commonName: "somebody" });
  Object.assign(material, { ca: authority.certificatePem, cert: client.certificatePem, key: client.privateKeyPem });
  const tls = {
    ca: authority.certificatePem,
    cert: server.certificatePem,
    key: server.privateKeyPem,
    requestCert: true,
    rejectUnauthorized: false,
  };
  const answer = ({ message }: StubRequest, response: ServerResponse) => {
    certificate = String((message.socket as TLSSocket).getPeerCertificate().subject?.CN ?? "");
    reply(response, 200, { kind: "Version" });
  };
  api = await ApiStub.start(answer, tls);
  stranger = await ApiStub.start(answer, tls);
  proxy = createProxy().on("connect", (request, socket) => {
    tunnelled++;
    const [host, port] = String(request.url).split(":");
    const far = net.connect(Number(port), host, () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      far.pipe(socket).pipe(far);
    });
    far.on("error", () => socket.destroy());
    socket.on("error", () => far.destroy());
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
});

afterAll(async () => {
  await api.close();
  await stranger.close();
  proxy.closeAllConnections();
  proxy.close();
  rmSync(dir, { recursive: true, force: true });
});

const base64 = (text: string) => Buffer.from(text).toString("base64");
const cluster = (more: object = {}) => ({
  name: "c",
  cluster: { server: "API", "certificate-authority-data": "CA64", ...more },
});
const user = (user: object, name = "u") => ({ name, user });
const context = (more: object = {}, name = "x") => ({ name, context: { cluster: "c", user: "u", ...more } });
const config = (parts: object) => ({ apiVersion: "v1", kind: "Config", ...parts });
const whole = (credentials: object, clusterParts: object = {}, contextParts: object = {}) =>
  config({
    clusters: [cluster(clusterParts)],
    contexts: [context(contextParts)],
    "current-context": "x",
    users: [user(credentials)],
  });
const plain = (name: string, credentials: object, clusterParts: object = {}, fails?: true): Case => ({
  name,
  files: { config: whole(credentials, clusterParts) },
  paths: ["config"],
  ...(fails === undefined ? {} : { fails }),
});
const plugin = (status: object, apiVersion = "client.authentication.k8s.io/v1") =>
  `#!/bin/sh\ncat <<EOF\n${JSON.stringify({ apiVersion, kind: "ExecCredential", status })}\nEOF\n`;
const exec = (more: object = {}) => ({
  apiVersion: "client.authentication.k8s.io/v1",
  command: "./plugin.sh",
  interactiveMode: "Never",
  ...more,
});

const cases: readonly Case[] = [
  plain("a token", { token: "t" }),
  plain("a name and a password", { username: "name", password: "p:w" }),
  plain("an embedded certificate", { "client-certificate-data": "CERT64", "client-key-data": "KEY64" }),
  {
    name: "embedded data beside a file",
    files: {
      config: whole({
        "client-certificate": "other",
        "client-certificate-data": "CERT64",
        "client-key-data": "KEY64",
      }),
      other: "unused",
    },
    paths: ["config"],
    fails: true,
  },
  plain("impersonation", {
    token: "t",
    as: "me",
    "as-groups": ["a", "b"],
    "as-uid": "7",
    "as-user-extra": { "ex.org/x": ["1", "2"] },
  }),
  plain("another name for TLS", { token: "t" }, { "tls-server-name": "api.test" }),
  plain("a name that the certificate does not have", { token: "t" }, { "tls-server-name": "other.test" }, true),
  plain("no verification", { token: "t" }, { "certificate-authority-data": "", "insecure-skip-tls-verify": true }),
  plain("no verification beside a CA", { token: "t" }, { "insecure-skip-tls-verify": true }, true),
  plain(
    "a CA that nobody put there",
    { token: "t" },
    { "certificate-authority-data": "", "certificate-authority": "none" },
    true,
  ),
  plain("no CA for a private server", { token: "t" }, { "certificate-authority-data": "" }, true),
  plain("a proxy", { token: "t" }, { "proxy-url": "PROXY" }),
  plain("a proxy of an unknown kind", { token: "t" }, { "proxy-url": "ftp://127.0.0.1:1" }, true),
  plain("a token and a password", { token: "t", username: "name", password: "p" }, {}, true),
  plain("a certificate without its key", { "client-certificate-data": "CERT64" }, {}, true),
  plain("a token that is a number", { token: 123456 }, {}, true),
  plain("an auth-provider that is gone", { "auth-provider": { name: "gcp" } }, {}, true),
  {
    name: "files relative to the kubeconfig",
    files: {
      "sub/config": whole(
        { "client-certificate": "c.pem", "client-key": "../k.pem" },
        { "certificate-authority-data": "", "certificate-authority": "ca.pem" },
      ),
      "sub/c.pem": "CERT",
      "k.pem": "KEY",
      "sub/ca.pem": "CA",
    },
    paths: ["sub/config"],
  },
  { name: "a token file", files: { config: whole({ tokenFile: "token" }), token: "from-file\n" }, paths: ["config"] },
  {
    name: "a token file beside a token",
    files: { config: whole({ tokenFile: "token", token: "t" }), token: "from-file\n" },
    paths: ["config"],
  },
  {
    name: "a plugin with a token",
    files: { config: whole({ exec: exec() }), "plugin.sh": plugin({ token: "from-plugin" }) },
    paths: ["config"],
  },
  {
    name: "a plugin with a certificate",
    files: {
      config: whole({ exec: exec() }),
      "plugin.sh": plugin({ clientCertificateData: "CERT", clientKeyData: "KEY" }),
    },
    paths: ["config"],
  },
  {
    name: "a plugin in a folder below, with arguments and variables",
    files: {
      config: whole({ exec: exec({ command: "bin/p.sh", args: ["a"], env: [{ name: "B", value: "b" }] }) }),
      "bin/p.sh": plugin({ token: "x" }).replace('"x"', '"$1-$B"'),
    },
    paths: ["config"],
  },
  {
    name: "a plugin that sees the cluster",
    files: {
      config: whole({ exec: exec({ provideClusterInfo: true }) }),
      "plugin.sh": `#!/bin/sh\ncase "$KUBERNETES_EXEC_INFO" in *'"server":"https:'*) t=seen;; *) t=blind;; esac\n${plugin({ token: "x" }).replace('"x"', '"$t"').replace("#!/bin/sh\n", "")}`,
    },
    paths: ["config"],
  },
  {
    name: "a plugin beside a token",
    files: { config: whole({ token: "t", exec: exec() }), "plugin.sh": plugin({ token: "from-plugin" }) },
    paths: ["config"],
  },
  {
    name: "a plugin that answers in another version",
    files: {
      config: whole({ exec: exec() }),
      "plugin.sh": plugin({ token: "x" }, "client.authentication.k8s.io/v1beta1"),
    },
    paths: ["config"],
    fails: true,
  },
  {
    name: "a plugin that fails",
    files: { config: whole({ exec: exec() }), "plugin.sh": "#!/bin/sh\nexit 1\n" },
    paths: ["config"],
    fails: true,
  },
  { name: "a context that is asked for", files: { config: whole({ token: "t" }) }, paths: ["config"], context: "x" },
  {
    name: "a context that is not there",
    files: { config: whole({ token: "t" }) },
    paths: ["config"],
    context: "gone",
    fails: true,
  },
  {
    name: "several files, of which one is missing",
    files: {
      a: config({ users: [user({ token: "a" })] }),
      c: whole({ token: "c" }),
    },
    paths: ["a", "b", "c"],
  },
  {
    name: "several files with the same names: the first one's entry is taken whole",
    files: {
      a: config({ clusters: [cluster()], users: [user({ token: "a" })] }),
      b: whole({ token: "b", as: "me" }, { server: "STRANGER" }),
    },
    paths: ["a", "b"],
  },
  {
    name: "several files with current contexts: the first one's is taken",
    files: {
      a: config({ "current-context": "other", users: [user({ token: "a" }, "v")] }),
      b: config({
        ...whole({ token: "b" }),
        contexts: [context(), context({ user: "v" }, "other")],
      }),
    },
    paths: ["a", "b"],
  },
  {
    name: "several files with relative paths",
    files: {
      "one/config": config({ users: [user({ tokenFile: "token" })] }),
      "one/token": "one",
      "two/config": whole({ tokenFile: "token" }),
      "two/token": "two",
    },
    paths: ["one/config", "two/config"],
  },
  { name: "files that are all missing", files: {}, paths: ["a", "b"], fails: true },
  { name: "an empty file", files: { config: "" }, paths: ["config"], fails: true },
  { name: "JSON", files: { config: JSON.stringify(whole({ token: "t" })) }, paths: ["config"] },
  {
    name: "a list with one name twice",
    files: { config: config({ ...whole({}), users: [user({ token: "1" }), user({ token: "2" })] }) },
    paths: ["config"],
    fails: true,
  },
  {
    name: "a user that is not there",
    files: { config: config({ ...whole({}), users: [] }) },
    paths: ["config"],
    fails: true,
  },
  {
    name: "a server with a path and a slash at its end",
    files: { config: whole({ token: "t" }, { server: "API/clusters/one/" }) },
    paths: ["config"],
  },
];

interface Seen {
  readonly server: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly certificate: string;
  readonly serverName: unknown;
  readonly proxied: boolean;
}

function place({ files, name }: Case): string {
  const folder = join(dir, name.replaceAll(/[^a-z]+/g, "-"));
  for (const [file, contents] of Object.entries(files)) {
    const text = (typeof contents === "string" ? contents : stringify(contents))
      .replaceAll("CERT64", base64(material.cert))
      .replaceAll("KEY64", base64(material.key))
      .replaceAll("CA64", base64(material.ca))
      .replaceAll("STRANGER", stranger.url)
      .replaceAll("API", api.url)
      .replaceAll("PROXY", `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`)
      .replace(/^CERT$/, material.cert)
      .replace(/^KEY$/, material.key)
      .replace(/^CA$/, material.ca)
      .replace('"CERT"', JSON.stringify(material.cert))
      .replace('"KEY"', JSON.stringify(material.key));
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
    if (file.endsWith(".sh")) chmodSync(join(folder, file), 0o755);
  }
  return folder;
}

/** What the API servers saw while `ask` ran; undefined when they saw nothing or there was no answer. */
async function seenBy(ask: () => Promise<boolean>): Promise<Seen | undefined> {
  const before = [api.requests.length, stranger.requests.length, tunnelled];
  const answered = await ask();
  const [request, server] =
    api.requests.length > before[0]! ? [api.requests[before[0]!], "api"] : [stranger.requests[before[1]!], "stranger"];
  if (!answered || request === undefined) return undefined;
  const socket = request.message.socket as TLSSocket;
  const relevant = Object.entries(request.headers).filter(([key]) => /^(authorization|impersonate-)/.test(key));
  return {
    server,
    path: request.path,
    headers: Object.fromEntries(relevant),
    certificate,
    serverName: (socket as { servername?: unknown }).servername,
    proxied: tunnelled > before[2]!,
  };
}

async function byKubectl(folder: string, { context: name, paths }: Case): Promise<boolean> {
  const args = ["get", "--raw", "/version", "--request-timeout=10s"];
  const child = spawn(kubectl!, name === undefined ? args : [...args, `--context=${name}`], {
    env: { PATH: process.env.PATH, HOME: folder, KUBECONFIG: paths.map((file) => join(folder, file)).join(":") },
    stdio: "ignore",
  });
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return code === 0;
}

async function byUs(folder: string, { context: name, paths }: Case): Promise<boolean> {
  try {
    const endpoint = await kubeconfigEndpoint(paths.map((file) => join(folder, file)).join(":"), name);
    const client = createKubeApi(endpoint);
    try {
      await client.text("/version", { timeoutMs: 10_000 });
      return true;
    } finally {
      client.close();
    }
  } catch {
    return false;
  }
}

describe.skipIf(kubectl === undefined)("an API server sees the same of kubectl and of us with", () => {
  test.each(cases.map((each) => [each.name, each] as const))("%s", async (_, each) => {
    const folder = place(each);
    const theirs = await seenBy(() => byKubectl(folder, each));
    const ours = await seenBy(() => byUs(folder, each));
    expect(ours).toEqual(theirs);
    expect(theirs === undefined).toBe(each.fails === true);
  });
});
