/** Where the API server is, and how to prove to it who we are. */
export interface KubeEndpoint {
  /** E.g. `https://10.0.0.1:6443`, perhaps with a path, never with a slash at its end. */
  readonly server: string;
  /** Read again each time: tokens and certificates are replaced on disk while we run. */
  credentials(): Promise<KubeCredentials>;
  /** The API server did not accept the last ones. */
  refused?(): void;
}

export interface KubeCredentials {
  readonly headers: Readonly<Record<string, string | string[]>>;
  /** The URL of the proxy in between. */
  readonly proxy?: string;
  readonly tls: KubeTls;
}

export interface KubeTls {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly servername?: string;
  readonly rejectUnauthorized?: boolean;
}
