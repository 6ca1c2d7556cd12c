/** A cluster with one webhook in it, reached through a real server and a real agent. */
import type { ServerResponse } from "node:http";
import { createServer, type Server, type ServerOptions } from "node:https";
import type { AddressInfo } from "node:net";
import type { Finding } from "../../../../base/finding.js";
import { ClusterStub } from "../../../../cluster/kube/testing/cluster-stub.js";
import { startTunnelFixture, type TunnelFixture } from "../../../../tunnel/client/testing/fixture.js";
import { type Authority, createAuthority, issueCertificate } from "../../../../tunnel/pki/issue.js";
import { runChecks } from "../../run.js";
import type { AdmissionWebhook } from "../calls.js";
import { rehearsals } from "../rehearsal.js";
import type { ServiceRoute } from "../service-call.js";

export const never = new AbortController().signal;
export const VALIDATING = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
export const MUTATING = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
export const APISERVICES = "/apis/apiregistration.k8s.io/v1/apiservices";
export const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
export const SLICES = "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices";
export const SERVICE = "/api/v1/namespaces/shop/services/hooks";

export interface Review {
  readonly apiVersion: string;
  readonly kind: string;
  readonly request: {
    readonly uid: string;
    readonly dryRun: boolean;
    readonly operation: string;
    readonly object: object;
  };
}
export type Respond = (review: Review, response: ServerResponse, path: string) => void;

export const allow: Respond = ({ apiVersion, kind, request }, response) =>
  void response.end(JSON.stringify({ apiVersion, kind, response: { uid: request.uid, allowed: true } }));

export const base64 = ({ certificatePem }: { readonly certificatePem: string }): string =>
  Buffer.from(certificatePem).toString("base64");

export async function serving(
  by: Authority,
  dnsNames: string[],
  life: { now?: Date; validForMs?: number } = {},
): Promise<ServerOptions> {
  const pair = await issueCertificate(by, { use: "server", commonName: dnsNames[0]!, dnsNames, ...life });
  return { cert: pair.certificatePem, key: pair.privateKeyPem };
}

export class WebhookFixture {
  readonly tunnel: TunnelFixture;
  readonly authority: Authority;
  /** Of the last `listen`. */
  webhook: Server | undefined;
  seen: { readonly path: string; readonly review: Review }[] = [];
  #cluster: ClusterStub | undefined;
  readonly #certificates: ServerOptions;

  private constructor(tunnel: TunnelFixture, authority: Authority, certificates: ServerOptions) {
    this.tunnel = tunnel;
    this.authority = authority;
    this.#certificates = certificates;
  }

  static async build(): Promise<WebhookFixture> {
    const tunnel = await startTunnelFixture();
    await tunnel.startAgent();
    const authority = await createAuthority({ commonName: "shop" });
    return new WebhookFixture(tunnel, authority, await serving(authority, ["hooks.shop.svc"]));
  }

  get cluster(): ClusterStub {
    return this.#cluster!;
  }

  /** A cluster with the service and without any configuration. */
  async set(): Promise<void> {
    this.seen = [];
    this.#cluster = await ClusterStub.start({
      [VALIDATING]: [],
      [MUTATING]: [],
      [APISERVICES]: [],
      [DEFINITIONS]: [],
      "/api/v1": { resources: [{ name: "pods", kind: "Pod", namespaced: true }] },
      [SERVICE]: { spec: { type: "ClusterIP", clusterIP: "10.96.0.9", ports: [{ name: "https", port: 443 }] } },
    });
  }

  async clear(): Promise<void> {
    await Promise.all([this.cluster.close(), this.silence()]);
  }

  async silence(): Promise<void> {
    const { webhook } = this;
    this.webhook = undefined;
    webhook?.closeAllConnections();
    if (webhook !== undefined) await new Promise((resolve) => webhook.close(resolve));
  }

  async listen(respond: Respond, tls = this.#certificates): Promise<void> {
    await this.silence();
    const webhook = createServer(tls, async (request, response) => {
      let body = "";
      for await (const chunk of request.setEncoding("utf8")) body += chunk;
      const path = request.url ?? "";
      const review = body === "" ? ({} as Review) : (JSON.parse(body) as Review);
      this.seen.push({ path, review });
      respond(review, response, path);
    });
    this.webhook = webhook;
    await new Promise<void>((resolve) => webhook.listen(0, "127.0.0.1", resolve));
    this.pointTo(this.port);
  }

  get port(): number {
    return (this.webhook!.address() as AddressInfo).port;
  }

  /** The service's one endpoint that is ready. */
  pointTo(port: number): void {
    this.cluster.objects.set(SLICES, [
      {
        addressType: "IPv4",
        ports: [{ name: "https", port }],
        endpoints: [
          { addresses: ["192.0.2.99"], conditions: { ready: false } },
          { addresses: ["127.0.0.1"], conditions: { ready: true } },
        ],
      },
    ]);
  }

  configure(differences: Partial<AdmissionWebhook> = {}, list = VALIDATING): void {
    const webhook: AdmissionWebhook = {
      name: "check.shop.test",
      clientConfig: {
        service: { namespace: "shop", name: "hooks", path: "/check" },
        caBundle: base64(this.authority),
      },
      rules: [{ operations: ["DELETE", "CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods"] }],
      failurePolicy: "Fail",
      sideEffects: "None",
      timeoutSeconds: 5,
      admissionReviewVersions: ["v1", "v1beta1"],
      ...differences,
    };
    this.cluster.objects.set(list, [{ metadata: { name: "shop" }, webhooks: [webhook] }]);
  }

  async rehearse(webhooks: string[] = [], differences = {}, conversions: string[] = []): Promise<Finding[]> {
    const route: ServiceRoute = {
      ...{ frontend: this.tunnel.frontends["grpc-uds"], resolve: "endpoints", namespace: "konnectivity" },
      ...differences,
    };
    return runChecks(await rehearsals(route, this.cluster.api, { webhooks, conversions }, never), {}, { atOnce: 4 });
  }

  async one(differences = {}): Promise<Finding> {
    return (await this.rehearse(["shop"], differences))[0]!;
  }
}
