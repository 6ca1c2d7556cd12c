/** The kubeconfig with which machines ask for their first certificates: how it is written, read, and tried for real. */
import { claimsOf } from "../../../base/json-web-token.js";
import { endOf, leafIn } from "../../../tunnel/pki/pem.js";
import type { KubeEndpoint } from "../../kube/endpoint.js";
import { isNotFound, KubeApiError } from "../../kube/errors.js";
import { apiVersionOf, collectionPath, type Kind } from "../../kube/paths.js";
import type { KubeApi, KubeObject } from "../../kube/port.js";
import { BOOTSTRAPPER } from "../csr/request-context.js";
import { encoded, nameOf, pathOf, type Secret, secretText } from "../objects.js";
import { canonicalYaml } from "../yaml.js";

const KEY = "kubeconfig";

/** The API server that machines join, as the cluster's ConfigMap names it. */
export interface JoinedApi {
  readonly cluster: string;
  readonly server: string;
  readonly authorityPem: string;
}

/** The data of the Secret. */
export function credentialData({ authorityPem, cluster: name, server }: JoinedApi, token: string) {
  const user = BOOTSTRAPPER.name;
  const kubeconfig = canonicalYaml({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name, cluster: { server, "certificate-authority-data": encoded(authorityPem) } }],
    users: [{ name: user, user: { token } }],
    contexts: [{ name, context: { cluster: name, user } }],
    "current-context": name,
  });
  return { [KEY]: encoded(kubeconfig) };
}

export interface BootstrapCredential {
  readonly server: string;
  readonly authorityPem: string;
  readonly endpoint: KubeEndpoint;
  /** In milliseconds since 1970. Undefined: it does not say when it ends. */
  readonly life: { readonly from: number; readonly until: number } | undefined;
  /** By its own words. Undefined: it does not say. */
  readonly user: string | undefined;
}

/** Throws DB_KUBECONFIG for one that cannot be used, or that would use more than it contains. */
export async function readCredential(secret: Secret): Promise<BootstrapCredential> {
  const [{ containedSelection }, { selectionEndpoint }] = await Promise.all([
    import("../../kube/kubeconfig/document.js"),
    import("../../kube/kubeconfig/endpoint.js"),
  ]);
  const place = `in the Secret ${pathOf(nameOf(secret))}`;
  const selection = containedSelection(secretText(secret, KEY) ?? "", place);
  const { cluster, user } = selection;
  const claims = claimsOf(user.token?.trim() ?? "");
  return {
    server: cluster.server,
    authorityPem: decoded(cluster["certificate-authority-data"]),
    endpoint: selectionEndpoint(selection),
    life: lifeOf(claims) ?? certificateLife(decoded(user["client-certificate-data"])),
    user: typeof claims?.sub === "string" ? claims.sub : undefined,
  };
}

const decoded = (base64 = ""): string => Buffer.from(base64, "base64").toString("utf8");

function lifeOf(claims: ReturnType<typeof claimsOf>) {
  const [iat, exp] = [claims?.iat, claims?.exp];
  return typeof iat === "number" && typeof exp === "number" ? { from: iat * 1000, until: exp * 1000 } : undefined;
}

function certificateLife(pem: string) {
  if (pem === "") return undefined;
  const leaf = leafIn(pem);
  return { from: Date.parse(leaf.validFrom), until: endOf(leaf) };
}

/** `refused`: the token or certificate is. `server`: its certificate or answer is not that of the API. `untried`: nobody answered here. */
export type CredentialAnswer =
  | { readonly outcome: "refused" | "server" | "untried"; readonly error: KubeApiError }
  | {
      readonly outcome: "accepted";
      /** Undefined where the API server does not say who somebody is: before Kubernetes 1.28. */
      readonly identity: { readonly username: string; readonly groups: readonly string[] } | undefined;
      readonly mayRequest: boolean;
    };

/** For each of two questions. */
const TRY_MS = 5_000;

/** Asks the API server that the kubeconfig names, as a machine would; its certificate is verified before the credential is shown. */
export async function tryCredential({ endpoint }: BootstrapCredential): Promise<CredentialAnswer> {
  const { createKubeApi } = await import("../../kube/client.js");
  const api = createKubeApi(endpoint, { qps: -1 });
  try {
    const identity = await identityOf(api);
    return { outcome: "accepted", identity, mayRequest: await mayRequest(api) };
  } catch (error) {
    if (!(error instanceof KubeApiError)) throw error;
    return { outcome: outcomeOf(error), error };
  } finally {
    api.close();
  }
}

function outcomeOf({ code, status }: KubeApiError) {
  if (status === 401) return "refused";
  return code === "DB_API_CERTIFICATE" || code === "DB_API_NOT_KUBERNETES" ? "server" : "untried";
}

const review = (kind: Kind, spec?: object): KubeObject =>
  ({ apiVersion: apiVersionOf(kind), kind, ...(spec && { spec }) }) as KubeObject;

async function identityOf(api: KubeApi) {
  try {
    const asked = review("SelfSubjectReview");
    const { status } = await api.create<
      KubeObject & { status?: { userInfo?: { username?: string; groups?: readonly string[] } } }
    >(collectionPath("SelfSubjectReview"), asked, { timeoutMs: TRY_MS });
    const { groups = [], username } = status?.userInfo ?? {};
    return username === undefined ? undefined : { username, groups };
  } catch (reason) {
    if (isNotFound(reason) || (reason instanceof KubeApiError && reason.status === 403)) return undefined;
    throw reason;
  }
}

async function mayRequest(api: KubeApi): Promise<boolean> {
  const resourceAttributes = { group: "certificates.k8s.io", resource: "certificatesigningrequests", verb: "create" };
  const asked = review("SelfSubjectAccessReview", { resourceAttributes });
  const { status } = await api.create<KubeObject & { status?: { allowed?: boolean } }>(
    ...([collectionPath("SelfSubjectAccessReview"), asked, { timeoutMs: TRY_MS }] as const),
  );
  return status?.allowed === true;
}
