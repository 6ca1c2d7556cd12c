/** Where things are: the control plane's side is where the story runs, the agents' side is behind `far`. */
export interface Place {
  /** The address under which agents reach the proxy-server. */
  readonly serverHost: string;
  readonly webhook: { readonly host: string; readonly port: number };
  /** Puts a command on the agents' side. */
  far(argv: readonly string[]): string[];
  /**
   * Only without a namespace: the source port of direct calls, which the webhook turns away as a network without a route
   * would.
   */
  readonly refusedSourcePort?: number;
}
