/** Whoever asks for a tunnel, whichever kind of door it came through. */
import type { Port } from "../connection/port.js";
import type { ConnectId, DialId } from "../wire/packet.js";

export interface Caller {
  readonly frontend: "grpc" | "http-connect";
  readonly protocol: string;
  readonly address: string;
  readonly dialId: DialId;
  /** Tells the caller that its connection stands. Undefined: it is gone. */
  accept(connectId: ConnectId): Port | undefined;
  refuse(refusal: Refusal): void;
}

/** Why a dial failed; frontends word it as upstream words it. */
export type Refusal =
  | { readonly kind: "no-agent"; readonly text: string }
  | { readonly kind: "agent-lost" }
  | { readonly kind: "timeout" }
  /** The agent tried and says why not. */
  | { readonly kind: "dial-error"; readonly text: string }
  | { readonly kind: "closed-by-agent" };
