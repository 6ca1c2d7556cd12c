/** Kubeconfigs that are wrong in themselves, and addresses and proxies in them that lead elsewhere than to the API. */
import { readFileSync } from "node:fs";
import { startProxy, startWeb, type WebAnswer } from "./framework/others.js";
import type { Mistake, Scene } from "./framework/row.js";
import { PORT, type Stage } from "./framework/stage.js";

interface Cluster {
  readonly server?: string;
  readonly "certificate-authority"?: string;
  readonly "certificate-authority-data"?: string;
  readonly "proxy-url"?: string;
}

interface Document {
  "current-context"?: string;
  readonly clusters: { readonly name: string; cluster: Cluster }[];
  readonly users: { readonly name: string; user: Record<string, string> }[];
}

/** What stands on a cluster: a server that has tokens reviewed there, and a command. */
export interface Grounds {
  readonly adminConfig: () => string;
  readonly reviewed: (stage: Stage, kubeconfig: string) => Promise<Scene>;
  /** The same of a server that does not start. */
  readonly started: (stage: Stage, kubeconfig: string, isDoomed: boolean) => Promise<Scene>;
}

type Row = Omit<Mistake, "group" | "needs" | "play" | "tells"> & {
  readonly cause: RegExp;
  readonly remedy: RegExp;
  /** Changes the good kubeconfig. */
  readonly spoil: (stage: Stage, document: Document) => void | Promise<void>;
};

function kubeconfigOf(stage: Stage, document: Document): string {
  return stage.write("kubeconfig", JSON.stringify(document), 0o600);
}

export function kubeconfigRows({ adminConfig, reviewed, started }: Grounds): readonly Mistake[] {
  const shared = { group: "kubernetes", needs: { controlPlane: true } } as const;
  const make = async (stage: Stage, isWrong: boolean, spoil: Row["spoil"]): Promise<string> => {
    const document = JSON.parse(readFileSync(adminConfig(), "utf8")) as Document;
    if (isWrong) await spoil(stage, document);
    return kubeconfigOf(stage, document);
  };
  const list = (stage: Stage, kubeconfig: string) => async () =>
    (await stage.drawbridge("csr", "list", "--kubeconfig", kubeconfig)).text;

  /** The file can be used, and what it leads to cannot: the server runs and says so. */
  const leadsAstray = ({ cause, remedy, spoil, ...rest }: Row): Mistake => ({
    ...{ ...rest, ...shared },
    tells: { output: { cause, remedy }, "server log": { cause, remedy }, "server doctor": { cause, remedy } },
    async play(stage, isWrong) {
      const kubeconfig = await make(stage, isWrong, spoil);
      const { places, works } = await reviewed(stage, kubeconfig);
      return { places: { output: list(stage, kubeconfig), ...places }, works };
    },
  });

  /** The file cannot be used: neither the command nor the server starts. */
  const unusable = ({ cause, remedy, spoil, ...rest }: Row): Mistake => ({
    ...{ ...rest, ...shared },
    tells: { command: { cause, remedy }, output: { cause, remedy } },
    async play(stage, isWrong) {
      const kubeconfig = await make(stage, isWrong, spoil);
      const { places, works } = await started(stage, kubeconfig, isWrong);
      return { places: { command: list(stage, kubeconfig), ...places }, works };
    },
  });

  const toWeb =
    (answer: WebAnswer): Row["spoil"] =>
    async (stage, { clusters }) => {
      const server = await startWeb(stage, answer);
      clusters[0]!.cluster = { server, "certificate-authority": stage.pki.ca.cert };
    };

  const throughProxy =
    (proxyUrl: (stage: Stage) => string | Promise<string>): Row["spoil"] =>
    async (stage, { clusters }) => {
      clusters[0]!.cluster = { ...clusters[0]!.cluster, "proxy-url": await proxyUrl(stage) };
    };

  return [
    leadsAstray({
      id: "kubernetes-server-web-page",
      title: "the kubeconfig's server is a web server",
      cause: /127\.0\.0\.1:7443 answered 404 with text\/html, which is not the Kubernetes API/,
      remedy: /server: in the kubeconfig/,
      untrue: [/refused (?:GET|POST)/],
      spoil: toWeb({ status: 404, type: "text/html", body: "<html><h1>404 Not Found</h1>nginx</html>" }),
    }),
    leadsAstray({
      id: "kubernetes-server-balancer",
      title: "the kubeconfig's server is a load balancer that has nothing behind it",
      cause: /127\.0\.0\.1:7443 answered 404 with text\/plain, which is not the Kubernetes API[\s\S]*default backend/,
      remedy: /server: in the kubeconfig/,
      untrue: [/refused (?:GET|POST)/, /CustomResourceDefinition/],
      spoil: toWeb({ status: 404, type: "text/plain", body: "default backend - 404" }),
    }),
    leadsAstray({
      id: "kubernetes-server-login-page",
      title: "the kubeconfig's server answers everything with a login page",
      cause: /127\.0\.0\.1:7443 answered 200 with text\/html, which is not the Kubernetes API/,
      remedy: /server: in the kubeconfig/,
      spoil: toWeb({ status: 200, type: "text/html; charset=utf-8", body: "<html><form>Log in</form></html>" }),
    }),
    leadsAstray({
      id: "kubernetes-server-redirect",
      title: "the kubeconfig's server redirects to a login page",
      cause: /127\.0\.0\.1:7443 answered 302 with text\/html, which is not the Kubernetes API/,
      remedy: /server: in the kubeconfig/,
      spoil: toWeb({ status: 302, type: "text/html", body: "Found", location: "https://login.example.com/" }),
    }),
    unusable({
      id: "kubernetes-kubeconfig-no-current-context",
      title: "the kubeconfig has no current-context",
      cause: /has no current-context/,
      remedy: /config use-context NAME/,
      spoil: (_, document) => {
        delete document["current-context"];
      },
    }),
    unusable({
      id: "kubernetes-kubeconfig-ca-not-base64",
      title: "certificate-authority-data of the kubeconfig is PEM, not base64",
      cause: /certificate-authority-data of cluster [^\n]* is not base64/,
      remedy: /base64 -w0 FILE/,
      spoil: (_, { clusters }) => {
        const { server, "certificate-authority": file = "" } = clusters[0]!.cluster;
        clusters[0]!.cluster = { server: server!, "certificate-authority-data": readFileSync(file, "utf8") };
      },
    }),
    unusable({
      id: "kubernetes-kubeconfig-no-key",
      title: "the kubeconfig's user has a client certificate and no key",
      cause: /client certificate without a client key/,
      remedy: /client-key/,
      spoil: (_, { users }) => {
        delete users[0]!.user["client-key"];
      },
    }),
    unusable({
      id: "kubernetes-kubeconfig-no-scheme",
      title: "the kubeconfig's server has no scheme",
      cause: /server of its cluster "lab" is "10\.77\.0\.1:\d+"/,
      remedy: /write it as https:\/\/10\.77\.0\.1:\d+/,
      spoil: (_, { clusters }) => {
        const { cluster } = clusters[0]!;
        clusters[0]!.cluster = { ...cluster, server: cluster.server!.replace("https://", "") };
      },
    }),
    leadsAstray({
      id: "kubernetes-proxy-closed",
      title: "nothing listens at the kubeconfig's proxy-url",
      cause: /proxy[\s\S]{0,200}127\.0\.0\.1:7444[\s\S]{0,200}refused/,
      remedy: /proxy-url/,
      spoil: throughProxy(() => `http://127.0.0.1:${PORT.closed}`),
    }),
    leadsAstray({
      id: "kubernetes-proxy-forbids",
      title: "the kubeconfig's proxy does not allow the API's address",
      cause: /proxy[\s\S]{0,200}127\.0\.0\.1:7443[\s\S]{0,200}403/,
      remedy: /proxy-url/,
      untrue: [/DB_API_FORBIDDEN/],
      spoil: throughProxy((stage) => startProxy(stage, 403)),
    }),
    leadsAstray({
      id: "kubernetes-proxy-login",
      title: "the kubeconfig's proxy wants a login",
      cause: /proxy[\s\S]{0,200}127\.0\.0\.1:7443[\s\S]{0,200}407/,
      remedy: /proxy-url[\s\S]*login|login[\s\S]*proxy-url/,
      untrue: [/DB_API_UNAUTHENTICATED/],
      spoil: throughProxy((stage) => startProxy(stage, 407)),
    }),
  ];
}
