/** The steps of a kubelet before it is a node: it asks for a client certificate, registers itself, and asks for a serving certificate. */
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { pause, systemClock } from "../../../base/clock.js";
import { errorOf, messageOf } from "../../../base/errors/error.js";
import type { makeSigningRequest } from "../../../tunnel/pki/issue.js";
import type { KubeEndpoint } from "../../kube/endpoint.js";
import { isConflict } from "../../kube/errors.js";
import { outsideKeyIn } from "../../kube/outside-key.js";
import { collectionPath, namedPath } from "../../kube/paths.js";
import type { KubeApi, KubeObject } from "../../kube/port.js";
import {
  CLIENT_SIGNER,
  NODE_USER_PREFIX,
  outcomeOf,
  REQUESTS_PATH,
  requestPath,
  SERVING_SIGNER,
  type SigningRequest,
} from "../csr/signing-request.js";
import { readYaml } from "../yaml.js";
import type { FetcherOptions } from "./fetcher.js";
import type { Tree } from "./simulate.js";

interface JoinOptions extends Pick<FetcherOptions, "timeoutMs" | "clock" | "signal"> {
  readonly tree: Tree;
  readonly name: string;
  /** The node's addresses, for its serving certificate. */
  readonly addresses: readonly string[];
  readonly onStep: (sentence: string) => void;
}

export type Joined = Awaited<ReturnType<typeof joinCluster>>;

const LOOK_EVERY_MS = 300;
const FOLDER = "/var/lib/kubelet/pki";

/** Throws DB_SIMULATE_JOIN. */
export async function joinCluster(options: JoinOptions) {
  const { addresses, name, onStep, tree } = options;
  const [{ createKubeApi }, { kubeconfigEndpoint }] = await Promise.all([
    import("../../kube/client.js"),
    import("../../kube/kubeconfig/endpoint.js"),
  ]);
  const endpoint = await kubeconfigEndpoint(await bootstrapCredential(tree));
  const subject = { commonName: `${NODE_USER_PREFIX}${name}`, organizations: ["system:nodes"] };
  const bootstrapper = createKubeApi(endpoint, { qps: 0, burst: 0 });
  const first = { signer: CLIENT_SIGNER, usage: "client auth", subject };
  const client = await certificate(bootstrapper, options, first).finally(() => bootstrapper.close());
  const clientFile = `${FOLDER}/kubelet-client-current.pem`;
  await tree.write(clientFile, client.pem + client.key, 0o600);
  const node = createKubeApi(asNode(endpoint, client), { qps: 0, burst: 0 });
  try {
    await register(node, name, addresses);
    onStep(`Node ${name} is registered, unschedulable`);
    const names = { dnsNames: [name], ipAddresses: addresses };
    const wanted = { signer: SERVING_SIGNER, usage: "server auth", subject: { ...subject, ...names } };
    const serving = await certificate(node, options, wanted);
    const servingFile = `${FOLDER}/kubelet-server-current.pem`;
    await tree.write(servingFile, serving.pem + serving.key, 0o600);
    return {
      server: endpoint.server,
      node: name,
      certificates: [
        { request: client.request, signer: CLIENT_SIGNER, file: clientFile },
        { request: serving.request, signer: SERVING_SIGNER, file: servingFile },
      ],
    };
  } finally {
    node.close();
  }
}

interface WantedCertificate {
  readonly signer: string;
  readonly usage: string;
  readonly subject: Parameters<typeof makeSigningRequest>[0];
}

async function certificate(api: KubeApi, options: JoinOptions, { signer, subject, usage }: WantedCertificate) {
  const { makeSigningRequest } = await import("../../../tunnel/pki/issue.js");
  const { privateKeyPem, requestPem } = await makeSigningRequest(subject);
  const name = `csr-${randomBytes(4).toString("hex")}`;
  await attempted(`filing a request for ${signer}`, () =>
    api.create<SigningRequest>(REQUESTS_PATH, {
      apiVersion: "certificates.k8s.io/v1",
      kind: "CertificateSigningRequest",
      metadata: { name },
      spec: {
        request: Buffer.from(requestPem).toString("base64"),
        signerName: signer,
        usages: ["digital signature", usage],
      },
    }),
  );
  options.onStep(`${name} asks ${signer} for a certificate of ${subject.commonName}`);
  const pem = await issued(api, name, options);
  options.onStep(`${name} is approved and signed`);
  return { request: name, pem, key: privateKeyPem };
}

async function issued(api: KubeApi, name: string, options: JoinOptions): Promise<string> {
  const { clock = systemClock, timeoutMs, signal } = options;
  const until = clock.now() + timeoutMs;
  for (;;) {
    const request = await attempted(`looking at ${name}`, () => api.get<SigningRequest>(requestPath(name)));
    const { status } = request;
    if (status?.certificate) return Buffer.from(status.certificate, "base64").toString("utf8");
    const outcome = outcomeOf(request);
    const why = status?.conditions?.at(-1)?.message ?? "";
    if (outcome === "denied" || outcome === "failed") throw refused(`${name} was ${outcome}: ${why}`);
    if (clock.now() >= until || signal?.aborted) {
      const state = outcome === "approved" ? "approved, but nobody signed it" : "neither approved nor denied";
      throw refused(`${name} is ${state} after ${Math.round(timeoutMs / 1000)} s; drawbridge csr explain ${name}`);
    }
    await pause(clock, LOOK_EVERY_MS, signal);
  }
}

/** Pods must not land on a machine that does not exist. */
async function register(api: KubeApi, name: string, addresses: readonly string[]): Promise<void> {
  const labels = { "kubernetes.io/hostname": name };
  const node = { apiVersion: "v1", kind: "Node", metadata: { name, labels }, spec: { unschedulable: true } };
  const status = {
    addresses: [{ type: "Hostname", address: name }, ...addresses.map((address) => ({ type: "InternalIP", address }))],
  };
  const made = await attempted(`registering Node ${name}`, () =>
    api.create<KubeObject>(collectionPath("Node"), node as KubeObject),
  );
  const path = `${namedPath("Node", { name })}/status`;
  await attempted(`writing the status of Node ${name}`, () => api.update(path, { ...made, status } as KubeObject));
}

function asNode({ credentials, server }: KubeEndpoint, { key, pem }: { readonly key: string; readonly pem: string }) {
  return {
    server,
    credentials: async () => {
      const { ca, servername } = (await credentials()).tls;
      return { headers: {}, tls: { ...(ca && { ca }), ...(servername && { servername }), cert: pem, key } };
    },
  };
}

async function attempted<T>(what: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (reason) {
    const why = isConflict(reason)
      ? "it exists already, and a machine must not take another's place"
      : messageOf(reason);
    throw refused(`${what} failed: ${why}`, reason);
  }
}

const refused = errorOf("DB_SIMULATE_JOIN");

/** Paths of the bootstrap kubeconfig on Fedora CoreOS and on RHCOS. */
const KUBECONFIG_PATHS = ["/etc/kubernetes/bootstrap-kubeconfig", "/etc/kubernetes/kubeconfig"];

/** The path on this host of the bootstrap kubeconfig that the machine was given. Throws DB_SIMULATE_JOIN. */
export async function bootstrapCredential(tree: Tree): Promise<string> {
  for (const path of KUBECONFIG_PATHS) {
    const place = await tree.file(path);
    if (place === undefined) continue;
    // A payload must not make this host run a program or read a file of its own.
    const found = outsideKeyIn(contentOf(path, await readFile(place, "utf8")));
    if (found === undefined) return place;
    throw refused(`${path} names ${found}, and a payload's kubeconfig is used here only with what it contains`);
  }
  throw refused(`the payload has no bootstrap kubeconfig: neither ${KUBECONFIG_PATHS.join(" nor ")} is there`);
}

function contentOf(path: string, text: string): unknown {
  try {
    return readYaml(text, 0);
  } catch {
    throw refused(`${path} of the payload is not YAML without aliases`);
  }
}
