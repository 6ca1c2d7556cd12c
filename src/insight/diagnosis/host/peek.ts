/** A look at a port that speaks TLS: does it answer, and with which certificate? Nothing is sent but a handshake. */
import { connect as dial } from "node:net";
import { connect as secure } from "node:tls";
import { messageOf } from "../../../base/errors/error.js";

export type Peeked =
  | { readonly state: "connected"; readonly certificate: Buffer }
  | { readonly state: "timeout" | "refused" | "unreachable" | "no-tls"; readonly detail: string };

/** `protocol` is what the handshake offers to speak: agents HTTP/2, callers of a CONNECT door and machines HTTP/1.1. */
export function peek(
  host: string,
  port: number,
  withinMs: number,
  protocol: "h2" | "http/1.1" = "h2",
): Promise<Peeked> {
  return new Promise((resolve) => {
    let open = false;
    const plain = dial({ host, port });
    const end = (peeked: Peeked) => {
      clearTimeout(timer);
      plain.destroy();
      resolve(peeked);
    };
    const timer = setTimeout(() => {
      const detail = `no answer within ${withinMs / 1000} s`;
      end({ state: open ? "no-tls" : "timeout", detail });
    }, withinMs);
    const fail = (reason: NodeJS.ErrnoException) => {
      const state = open
        ? "no-tls"
        : reason.code === "ECONNREFUSED"
          ? "refused"
          : reason.code === "ETIMEDOUT"
            ? "timeout"
            : "unreachable";
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
