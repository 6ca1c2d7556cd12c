/** A TLS handshake with a port: does it answer, and with which certificate? Nothing else is sent. */
import { connect as dial } from "node:net";
import { connect as secure } from "node:tls";
import { messageOf } from "../../../base/errors/error.js";

export type Handshake =
  | { readonly state: "connected"; readonly certificate: Buffer }
  | { readonly state: "timeout" | "refused" | "unreachable" | "no-tls"; readonly detail: string };

export const HANDSHAKE_MS = 6_000;

/** `protocol` is offered by ALPN: agents speak HTTP/2, callers of HTTP CONNECT and machines HTTP/1.1. */
export function handshakeWith(
  host: string,
  port: number,
  protocol: "h2" | "http/1.1",
  withinMs = HANDSHAKE_MS,
): Promise<Handshake> {
  return new Promise((resolve) => {
    let open = false;
    const plain = dial({ host, port });
    const end = (handshake: Handshake) => {
      clearTimeout(timer);
      plain.destroy();
      resolve(handshake);
    };
    const timer = setTimeout(() => {
      const detail = `no answer within ${withinMs / 1000} s`;
      end({ state: open ? "no-tls" : "timeout", detail });
    }, withinMs);
    const fail = (reason: NodeJS.ErrnoException) => {
      const states = { ECONNREFUSED: "refused", ETIMEDOUT: "timeout" } as const;
      const state = open ? "no-tls" : (states[reason.code as keyof typeof states] ?? "unreachable");
      end({ state, detail: messageOf(reason) });
    };
    plain.once("error", fail);
    plain.once("connect", () => {
      open = true;
      plain.off("error", fail);
      // Judged by the caller, who can say what is wrong with it; that we show none ends the connection later.
      const tls = secure({ socket: plain, rejectUnauthorized: false, ALPNProtocols: [protocol] });
      tls.once("error", fail);
      tls.once("secureConnect", () => {
        const { raw } = tls.getPeerCertificate();
        tls.on("error", () => undefined);
        end(
          raw === undefined
            ? { state: "no-tls", detail: "it shows no certificate" }
            : { state: "connected", certificate: raw },
        );
      });
    });
  });
}
