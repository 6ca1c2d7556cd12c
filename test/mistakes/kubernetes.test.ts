/** Access to Kubernetes, and tokens: a real kube-apiserver decides. */
import { execFileSync } from "node:child_process";
import { createSign } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll } from "vitest";
import type { ControlPlane } from "../support/lab/control-plane.js";
import { makeControlPlane } from "../support/lab/control-plane.js";
import { controlPlaneExecutables, equipped } from "../support/lab/equipment.js";
import { writeKubeconfig } from "../support/lab/kubectl.js";
import { Scope } from "../support/lab/scope.js";
import { AGENT_NAMESPACE, AUDIENCE, accessObjects, requestToken, SERVER_USER } from "../support/lab/service-account.js";
import { addAddress, addBridge, createNamespace, link, type Namespace } from "../support/netns/index.js";
import { playAll } from "./framework/play.js";
import type { Mistake, Scene } from "./framework/row.js";
import { command, endsAtOnce } from "./framework/scenes.js";
import { PORT, type Stage } from "./framework/stage.js";
import { kubeconfigRows } from "./kubeconfig-rows.js";

const HOST = "10.77.0.1";
const needs = { controlPlane: true } as const;
const AGENT_ACCOUNT_FLAGS = [
  ...[`--agent-namespace=${AGENT_NAMESPACE}`, "--agent-service-account=konnectivity-agent"],
  `--authentication-audience=${AUDIENCE}`,
];

let lab: Scope | undefined;
let network: Namespace;
let plane: ControlPlane;
let joined = 0;
const good: Record<"server" | "nobody" | "token" | "otherToken" | "foreignAudience" | "deleted", string> = {
  ...{ server: "", nobody: "", token: "", otherToken: "", foreignAudience: "", deleted: "" },
};

beforeAll(async () => {
  if (!(await equipped({ namespaces: true, ...needs }))) return;
  lab = new Scope("mistakes");
  network = await createNamespace("cluster");
  await addBridge(network, "br0");
  // Otherwise its address changes with its members, and neighbours go on with the old one.
  await network.run("ip", "link", "set", "br0", "address", "02:00:00:00:00:01");
  await addAddress(network, "br0", `${HOST}/24`);
  plane = await makeControlPlane(lab, { executables: controlPlaneExecutables(), netns: network.name, host: HOST });
  await plane.apiServer.start();
  const { admin } = plane;
  const account = (name: string) => ({
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { name, namespace: AGENT_NAMESPACE },
  });
  const anchor = { name: "token-anchor", namespace: AGENT_NAMESPACE };
  await admin.apply(...accessObjects, account("somebody-else"), { apiVersion: "v1", kind: "Secret", metadata: anchor });
  good.server = plane.kubeconfig(SERVER_USER);
  good.nobody = plane.kubeconfig("nobody");
  good.token = await requestToken(admin, { audience: AUDIENCE });
  good.otherToken = await requestToken(admin, { account: "somebody-else", audience: AUDIENCE });
  good.foreignAudience = await requestToken(admin, { audience: "somebody-else" });
  good.deleted = await requestToken(admin, { audience: AUDIENCE, boundToSecret: anchor.name });
  await admin.run(["delete", "secret", anchor.name, "-n", AGENT_NAMESPACE]);
});
afterAll(async () => {
  await lab?.close();
  await network?.destroy();
});

/** A cable from the stage to the cluster's network. */
async function join(stage: Stage): Promise<void> {
  const number = ++joined;
  await link(stage.netns, "eth1", network, `v${number}`);
  await network.run("ip", "link", "set", `v${number}`, "master", "br0");
  await addAddress(stage.netns, "eth1", `10.77.0.${10 + number}/24`);
}

/** A server that reviews tokens, and an agent that shows one. */
async function reviewed(
  stage: Stage,
  { kubeconfig = good.server, token = good.token, flags = [] as readonly string[] },
): Promise<Scene> {
  const server = await stage.server({
    ca: "",
    flags: [...AGENT_ACCOUNT_FLAGS, `--kubeconfig=${kubeconfig}`, ...flags],
  });
  const path = stage.write("agent-token", token, 0o600);
  const agent = await stage.agent({ cert: undefined, flags: [`--service-account-token-path=${path}`] });
  return {
    places: {
      "server log": () => server.log.text,
      "agent log": () => agent.log.text,
      "agent readyz": () => stage.get(PORT.agentHealth, "/readyz?verbose"),
      "server findings": () => stage.admin(PORT.serverAdmin, "findings"),
      "server doctor": () => stage.doctor("--role", "server"),
      doctor: () => stage.doctor("--role", "agent"),
    },
    works: async () => (await stage.isAgentConnected()) === true,
  };
}

const configWith = (stage: Stage, change: { url?: string; caFile?: string }): string =>
  writeKubeconfig(stage.file("kubeconfig"), { ...plane.api, ...change }, pairOf(good.server));

function pairOf(kubeconfig: string) {
  const { users } = JSON.parse(readFileSync(kubeconfig, "utf8")) as {
    users: { user: { "client-certificate": string; "client-key": string } }[];
  };
  return { cert: users[0]!.user["client-certificate"], key: users[0]!.user["client-key"] };
}

/** The same identity, ended yesterday. */
function ended(stage: Stage): { cert: string; key: string } {
  const own = { cert: stage.file("ended-own.crt"), key: stage.file("ended.key") };
  const request = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1"];
  const use = ["-addext", "basicConstraints=critical,CA:FALSE", "-addext", "extendedKeyUsage=clientAuth"];
  const quiet = { stdio: "pipe" } as const;
  execFileSync(
    "openssl",
    [...request, "-keyout", own.key, "-out", own.cert, "-subj", `/CN=${SERVER_USER}`, ...use],
    quiet,
  );
  const cert = stage.file("ended.crt");
  const sign = ["-CA", plane.ca.cert, "-CAkey", plane.ca.key, "-days", "-1", "-out", cert];
  execFileSync("openssl", ["x509", "-in", own.cert, ...sign], quiet);
  return { cert, key: own.key };
}

/** The same token, signed again with an end an hour ago: the API gives none that ends within ten minutes. */
function endedToken(): string {
  const [head = "", body = ""] = good.token.split(".");
  const claims = JSON.parse(Buffer.from(body, "base64url").toString()) as Record<string, number>;
  const past = { iat: claims.iat! - 7200, nbf: claims.nbf! - 7200, exp: claims.iat! - 3600 };
  const text = `${head}.${Buffer.from(JSON.stringify({ ...claims, ...past })).toString("base64url")}`;
  const key = readFileSync(plane.serviceAccounts.privateKey);
  return `${text}.${createSign("SHA256").update(text).sign(key, "base64url")}`;
}

const both = (cause: RegExp, remedy: RegExp) => ({
  "server log": { cause, remedy },
  "server doctor": { cause, remedy },
});

const api = (row: Omit<Mistake, "group" | "needs">): Mistake => ({ ...row, group: "kubernetes", needs });
const token = (row: Omit<Mistake, "group">): Mistake => ({ ...row, group: "tokens" });

const rows: readonly Mistake[] = [
  api({
    id: "kubernetes-api-down",
    title: "nothing listens where the server's kubeconfig leads",
    tells: both(/10\.77\.0\.1:7444[\s\S]{0,200}refused/, /kubeconfig/),
    play: (stage, isWrong) =>
      reviewed(stage, isWrong ? { kubeconfig: configWith(stage, { url: `https://${HOST}:7444` }) } : {}),
  }),
  api({
    id: "kubernetes-wrong-ca",
    title: "the kubeconfig has the CA of another cluster",
    tells: both(/certificate/, /certificate-authority|kubeconfig/),
    play: (stage, isWrong) =>
      reviewed(stage, isWrong ? { kubeconfig: configWith(stage, { caFile: stage.pki.foreignCa.cert }) } : {}),
  }),
  api({
    id: "kubernetes-other-cluster",
    title: "the kubeconfig's client certificate is of another cluster",
    tells: both(/\b401\b|Unauthorized/, /kubeconfig|client certificate/),
    async play(stage, isWrong) {
      const { make, foreignCa } = stage.pki;
      const pair = await make.issue(foreignCa, "system-konnectivity-server");
      return reviewed(stage, isWrong ? { kubeconfig: writeKubeconfig(stage.file("kubeconfig"), plane.api, pair) } : {});
    },
  }),
  api({
    id: "kubernetes-client-certificate-expired",
    title: "the kubeconfig's client certificate has expired",
    tells: both(/expired/, /[Rr]enew|kubeconfig/),
    play: (stage, isWrong) =>
      reviewed(
        stage,
        isWrong ? { kubeconfig: writeKubeconfig(stage.file("kubeconfig"), plane.api, ended(stage)) } : {},
      ),
  }),
  api({
    id: "kubernetes-token-review-forbidden",
    title: "the server may not create TokenReviews",
    tells: both(/tokenreviews|TokenReview/, /system:auth-delegator/),
    play: (stage, isWrong) => reviewed(stage, isWrong ? { kubeconfig: good.nobody } : {}),
  }),
  api({
    id: "kubernetes-server-lease-forbidden",
    title: "the server may not write leases",
    isHarmless: true,
    tells: {
      "server log": { cause: /leases[\s\S]{0,300}forbidden|forbidden[\s\S]{0,300}leases/, remedy: /Role|verbs|create/ },
    },
    async play(stage, isWrong) {
      const flags = ["--enable-lease-controller", `--kubeconfig=${isWrong ? good.nobody : good.server}`];
      const server = await stage.server({ flags });
      await stage.agent();
      return {
        places: { "server log": () => server.log.text },
        works: async () => (await stage.isAgentConnected()) === true,
      };
    },
  }),
  api({
    id: "kubernetes-agent-lease-forbidden",
    title: "the agent may not list leases",
    isHarmless: true,
    tells: {
      "agent log": {
        cause: /leases[\s\S]{0,300}forbidden|forbidden[\s\S]{0,300}leases/,
        remedy: /ClusterRole|RoleBinding|Role\b/,
      },
    },
    async play(stage, isWrong) {
      await stage.server();
      // The server's own user may not watch them either.
      const flags = ["--count-server-leases", `--kubeconfig=${isWrong ? good.nobody : plane.adminConfig}`];
      const agent = await stage.agent({ flags });
      return {
        places: { "agent log": () => agent.log.text },
        works: async () => (await stage.isAgentConnected()) === true,
      };
    },
  }),
  api({
    id: "kubernetes-lease-namespace-missing",
    title: "--lease-namespace does not exist",
    isHarmless: true,
    tells: { "server log": { cause: /namespaces? \\?"?nowhere/, remedy: /--lease-namespace/ } },
    async play(stage, isWrong) {
      const flags = ["--enable-lease-controller", `--kubeconfig=${plane.adminConfig}`];
      const server = await stage.server({
        flags: [...flags, `--lease-namespace=${isWrong ? "nowhere" : AGENT_NAMESPACE}`],
      });
      await stage.agent();
      return {
        places: { "server log": () => server.log.text },
        works: async () => (await stage.isAgentConnected()) === true,
      };
    },
  }),
  api({
    id: "kubernetes-wrong-context",
    title: "--context names a context that the kubeconfig does not have",
    tells: { output: { cause: /context "?nope/, remedy: /\(lab\)[^\n]*Give --context one of those/ } },
    play: (stage, isWrong) =>
      command(() =>
        stage.drawbridge("csr", "list", "--kubeconfig", plane.adminConfig, "--context", isWrong ? "nope" : "lab"),
      ),
  }),
  api({
    id: "kubernetes-bad-token",
    title: "the kubeconfig's token is not valid at this cluster",
    tells: { output: { cause: /\b401\b|Unauthorized/, remedy: /token|kubeconfig/ } },
    play(stage, isWrong) {
      const tokenFile = stage.write("token", "not-a-token", 0o600);
      const wrong = writeKubeconfig(stage.file("kubeconfig"), plane.api, { tokenFile });
      return command(() => stage.drawbridge("csr", "list", "--kubeconfig", isWrong ? wrong : plane.adminConfig));
    },
  }),
  api({
    id: "kubernetes-forbidden",
    title: "the kubeconfig's user may not read what a command needs",
    tells: {
      output: {
        cause: /User "nobody" cannot get resource/,
        remedy: /permission that the message names/,
      },
    },
    play: (stage, isWrong) =>
      command(() => stage.drawbridge("csr", "list", "--kubeconfig", isWrong ? good.nobody : plane.adminConfig)),
  }),
  api({
    id: "kubernetes-crd-missing",
    title: "the cluster does not have the NodePool CRD",
    tells: { output: { cause: /does not serve nodepools/, remedy: /drawbridge nodepool install/ } },
    async play(stage, isWrong) {
      const cluster = ["--kubeconfig", plane.adminConfig];
      if (!isWrong) await stage.drawbridge("nodepool", "install", "--image=registry.example/drawbridge:1", ...cluster);
      return command(() => stage.drawbridge("nodepool", "status", ...cluster, "--namespace", AGENT_NAMESPACE));
    },
  }),
  api({
    id: "kubernetes-kubeconfig-missing",
    title: "--kubeconfig does not exist",
    tells: { output: { cause: /nope\.kubeconfig/, remedy: /Create the file, mount its Secret, or correct the flag/ } },
    play: (stage, isWrong) =>
      endsAtOnce(isWrong, (isDoomed) => {
        const kubeconfig = isWrong ? stage.file("nope.kubeconfig") : good.server;
        return stage.server({ ca: "", isDoomed, flags: [...AGENT_ACCOUNT_FLAGS, `--kubeconfig=${kubeconfig}`] });
      }),
  }),
  token({
    id: "tokens-agent-audience",
    title: "the agent's token is for another audience",
    needs,
    tells: { ...both(/audience/, /audience/), "agent log": { cause: /token|audience/ } },
    play: (stage, isWrong) => reviewed(stage, isWrong ? { token: good.foreignAudience } : {}),
  }),
  token({
    id: "tokens-agent-account",
    title: "the agent's token is another service account's",
    needs,
    tells: both(/somebody-else/, /--agent-service-account|service account/),
    play: (stage, isWrong) => reviewed(stage, isWrong ? { token: good.otherToken } : {}),
  }),
  token({
    id: "tokens-agent-ended",
    title: "the agent's token is no longer valid",
    needs,
    tells: {
      ...both(/token[\s\S]{0,200}(?:not valid|invalid|expired|no longer|not authenticated)/i, /token/),
      "agent log": { cause: /token/ },
    },
    play: (stage, isWrong) => reviewed(stage, isWrong ? { token: good.deleted } : {}),
  }),
  token({
    id: "tokens-agent-expired",
    title: "the agent's token has expired",
    needs,
    tells: {
      ...both(/token has expired/, /expired[\s\S]*restart the agent's pod/),
      "agent log": { cause: /agent-token ended on/, remedy: /restart the agent's pod/ },
      "agent readyz": { remedy: /restart the agent's pod/ },
    },
    play: (stage, isWrong) => reviewed(stage, isWrong ? { token: endedToken() } : {}),
  }),
  token({
    id: "tokens-agent-empty",
    title: "the agent's token file is empty",
    needs,
    tells: { "agent log": { cause: /empty/, remedy: /--service-account-token-path/ }, doctor: { cause: /empty/ } },
    play: (stage, isWrong) => reviewed(stage, isWrong ? { token: "" } : {}),
  }),
  token({
    id: "tokens-admin-wrong",
    title: "the admin client shows another token than the process'",
    tells: { output: { cause: /answered 401/, remedy: /--token-file/ } },
    async play(stage, isWrong) {
      await stage.server();
      const file = isWrong ? stage.write("other-token", "another-token-of-mine\n", 0o600) : stage.adminToken;
      const admin = ["--admin", `http://127.0.0.1:${PORT.serverAdmin}`];
      return command(() => stage.drawbridge("top", "--once", "--token-file", file, ...admin));
    },
  }),
  token({
    id: "tokens-admin-empty",
    title: "the file of --admin-token-file is empty",
    isHarmless: true,
    tells: { "server log": { cause: /admin[\s\S]{0,200}empty/, remedy: /--admin-token-file|random token/ } },
    async play(stage, isWrong) {
      const file = stage.file("own-token");
      writeFileSync(file, isWrong ? "" : "0123456789abcdef0123456789abcdef\n", { mode: 0o600 });
      const server = await stage.server({ flags: [`--admin-token-file=${file}`] });
      await stage.agent();
      return {
        places: { "server log": () => server.log.text },
        works: async () => (await stage.isAgentConnected()) === true,
      };
    },
  }),
  token({
    id: "tokens-admin-world-readable",
    title: "everybody may read the file of --admin-token-file",
    isHarmless: true,
    tells: { "server log": { cause: /own-token[\s\S]{0,200}(?:0?644|read)/, remedy: /chmod/ } },
    async play(stage, isWrong) {
      const file = stage.file(isWrong ? "own-token" : "own-private-token");
      writeFileSync(file, "0123456789abcdef0123456789abcdef\n", { mode: isWrong ? 0o644 : 0o600 });
      const server = await stage.server({ flags: [`--admin-token-file=${file}`] });
      await stage.agent();
      return {
        places: { "server log": () => server.log.text },
        works: async () => (await stage.isAgentConnected()) === true,
      };
    },
  }),
];

const more = kubeconfigRows({
  adminConfig: () => plane.adminConfig,
  reviewed: (stage, kubeconfig) => reviewed(stage, { kubeconfig }),
  started: (stage, kubeconfig, isWrong) =>
    endsAtOnce(isWrong, (isDoomed) =>
      stage.server({ ca: "", isDoomed, flags: [...AGENT_ACCOUNT_FLAGS, `--kubeconfig=${kubeconfig}`] }),
    ),
});

playAll([...rows, ...more], async (stage) => (lab === undefined ? undefined : join(stage)));
