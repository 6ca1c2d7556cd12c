/** An API server with a certificate of its own, that knows one bootstrap token and says what it was shown. */
import { type Authority, createAuthority, issueCertificate } from "../../../../tunnel/pki/issue.js";
import { ApiStub, reply, replyStatus } from "../../../kube/testing/api-stub.js";
import { defaultPolicy } from "../../csr/request-context.js";

const SECOND_MS = 1000;

/** A token as the API issues it, unsigned. */
export function tokenFor(from: number, until: number, sub = defaultPolicy.bootstrapUser): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const claims = { iat: Math.floor(from / SECOND_MS), exp: Math.floor(until / SECOND_MS), sub };
  return [part({ alg: "none" }), part(claims), "signature"].join(".");
}

export class JoinedApiStub {
  readonly authority: Authority;
  readonly #stub: ApiStub;
  /** Others are answered with 401. */
  isKnown: (token: string) => boolean = () => true;
  identity: { username: string; groups: readonly string[] } | undefined = {
    username: defaultPolicy.bootstrapUser,
    groups: defaultPolicy.bootstrapGroups,
  };
  mayRequest = true;

  private constructor(stub: ApiStub, authority: Authority) {
    this.#stub = stub;
    this.authority = authority;
  }

  static async start(): Promise<JoinedApiStub> {
    const authority = await createAuthority({ commonName: "kubernetes" });
    const { certificatePem: cert, privateKeyPem: key } = await issueCertificate(authority, {
      ...{ commonName: "kube-apiserver", use: "server", ipAddresses: ["127.0.0.1"] },
    });
    let joined: JoinedApiStub | undefined;
    const stub = await ApiStub.start(
      ({ headers, path }, response) => {
        const { identity, isKnown, mayRequest } = joined!;
        if (!isKnown(headers.authorization?.slice("Bearer ".length) ?? ""))
          return replyStatus(response, 401, "Unauthorized", "Unauthorized");
        if (path.endsWith("/selfsubjectaccessreviews"))
          return reply(response, 201, { status: { allowed: mayRequest } });
        if (identity === undefined) return replyStatus(response, 404, "NotFound", "404 page not found");
        reply(response, 201, { status: { userInfo: identity } });
      },
      { cert, key },
    );
    joined = new JoinedApiStub(stub, authority);
    return joined;
  }

  get url(): string {
    return this.#stub.url;
  }

  /** Tokens that it was shown. */
  get shown(): readonly string[] {
    return this.#stub.requests.map(({ headers }) => headers.authorization?.slice("Bearer ".length) ?? "");
  }

  close(): Promise<void> {
    return this.#stub.close();
  }
}
