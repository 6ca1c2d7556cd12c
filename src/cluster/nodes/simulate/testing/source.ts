/** A server that gives what a test tells it to, over real TLS, and remembers how it was asked. */
import type { IncomingHttpHeaders, RequestListener } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { dataUrlOf } from "../../../../base/data-url.js";
import { type Authority, createAuthority, issueCertificate } from "../../../../tunnel/pki/issue.js";

export class IgnitionSource {
  readonly asked: { readonly path: string; readonly headers: IncomingHttpHeaders }[] = [];
  readonly authority: Authority;
  answer: RequestListener = (_, response) => response.writeHead(404).end();
  readonly #server: ReturnType<typeof createServer>;

  private constructor(authority: Authority, cert: string, key: string) {
    this.authority = authority;
    this.#server = createServer({ cert, key }, (request, response) => {
      this.asked.push({ path: request.url ?? "", headers: request.headers });
      this.answer(request, response);
    });
  }

  static async start(): Promise<IgnitionSource> {
    const authority = await createAuthority({ commonName: "source" });
    const names = { dnsNames: ["source.example"], ipAddresses: ["127.0.0.1"] };
    const wanted = { use: "server", commonName: "source", ...names } as const;
    const { certificatePem, privateKeyPem } = await issueCertificate(authority, wanted);
    const source = new IgnitionSource(authority, certificatePem, privateKeyPem);
    await new Promise<void>((resolve) => source.#server.listen(0, "127.0.0.1", resolve));
    return source;
  }

  url(path: string): string {
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}${path}`;
  }

  /** A member of a config, for those who should trust this server. */
  get trust() {
    return { tls: { certificateAuthorities: [{ source: dataUrlOf(this.authority.certificatePem) }] } };
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}
