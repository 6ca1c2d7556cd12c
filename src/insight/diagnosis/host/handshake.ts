/** TLS handshakes with ports: does one answer, and with which certificate? Nothing else is sent. */
import { connect as dial } from "node:net";
import { connect as secure } from "node:tls";
import { joinHostPort } from "../../../base/address.js";
import { messageOf } from "../../../base/errors/error.js";

export type Unanswered = "timeout" | "refused" | "unreachable" | "unresolved" | "no-tls";

type Handshake =
  | { readonly state: "connected"; readonly certificate: Buffer }
  | { readonly state: Unanswered; readonly detail: string };

const HANDSHAKE_MS = 6_000;

/** A TLS port as whoever dials it sees it. */
export type Dialled = Awaited<ReturnType<typeof dialTls>>;

/**
 * `names`: what diallers call the server; none when that is not known. `ca`: the dialler's authorities, where they are
 * known.
 */
export async function dialTls(
  host: string,
  port: number,
  protocol: "h2" | "http/1.1",
  names: readonly string[] = [],
  ca?: { readonly file: string; readonly text: string | undefined },
) {
  return { where: joinHostPort(host, port), port, names, handshake: await handshakeWith(host, port, protocol), ca };
}

/** `protocol` is offered by ALPN: agents speak HTTP/2, callers of HTTP CONNECT and machines HTTP/1.1. */
function handshakeWith(host: string, port: number, protocol: "h2" | "http/1.1"): Promise<Handshake> {
  return new Promise((resolve) => {
    let open = false;
    const plain = dial({ host, port });
    const end = (handshake: Handshake) => {
      clearTimeout(timer);
      plain.destroy();
      resolve(handshake);
    };
    const timer = setTimeout(() => {
      const detail = `no answer within ${HANDSHAKE_MS / 1000} s`;
      end({ state: open ? "no-tls" : "timeout", detail });
    }, HANDSHAKE_MS);
    const fail = (reason: NodeJS.ErrnoException) => {
      const states = { ECONNREFUSED: "refused", ETIMEDOUT: "timeout" } as const;
      const known = states[reason.code as keyof typeof states] ?? "unreachable";
      const state = open ? "no-tls" : reason.syscall === "getaddrinfo" ? "unresolved" : known;
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
