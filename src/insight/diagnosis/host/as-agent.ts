/** A server's agent port, dialled as an agent dials it. No agent is registered: the handshake is made, and no call. */
import type { X509Certificate } from "node:crypto";
import { existsSync } from "node:fs";
import { joinHostPort } from "../../../base/address.js";
import { DrawbridgeError } from "../../../base/errors/error.js";
import { pkiFile } from "../../../cluster/bootstrap/model/names.js";
import { textAt } from "../../../cluster/bootstrap/settings/programs.js";
import type { AgentConfig } from "../../../tunnel/agent/config.js";
import { connectToServer } from "../../../tunnel/agent/connect.js";
import { openSession } from "../../../tunnel/link/open.js";
import type { ProxyEnvironment } from "../../../tunnel/outgoing/environment-proxy.js";
import { DialFailure, explainSession } from "../../../tunnel/outgoing/explain.js";
import { tcpInTime } from "../../../tunnel/outgoing/in-time.js";
import type { Secured } from "../../../tunnel/outgoing/secure.js";
import { readableCertificates } from "../../../tunnel/pki/pem.js";
import { Resolver, type ResolverOptions } from "../../../tunnel/resolver/resolver.js";

/** What an agent needs to dial its servers, with files as they are to be read from here. */
export interface AgentSettings extends Pick<AgentConfig, "servers" | "tls" | "tokenFile"> {
  /** The proxies of its environment. */
  readonly env: ProxyEnvironment;
  readonly names: ResolverOptions;
}

/** A server's agent port as an agent gets it, or what is known of it without an agent's certificate. */
export type AgentPort = AgentDial | SeenPort;

/** A port of which no agent's view is known: by a TCP connection, and the server's certificate. */
export interface SeenPort {
  readonly where: string;
  /** What agents call the server, where it is known. */
  readonly name: string | undefined;
  /** Where the server here reads its certificate; empty: that is not known; undefined: the server showed it. */
  readonly file?: string;
  /** Undefined: it cannot be read here. */
  readonly serverCertificate: X509Certificate | undefined;
  /** Why no TCP connection comes about. */
  readonly failure?: unknown;
}

/** Beside the server: no TLS is begun, which the server would take for a refused agent. */
async function lookAtOwnPort({ host, port, isName, ownFile: file = "" }: Directory): Promise<SeenPort> {
  const [leaf] = readableCertificates((file && (await textAt(file))) ?? "");
  const where = joinHostPort(host, port);
  const known = { where, file, name: isName ? host : undefined, serverCertificate: leaf?.certificate };
  try {
    (await tcpInTime({ host, port }, where, AbortSignal.timeout(ANSWER_MS), ANSWER_MS)).destroy();
    return known;
  } catch (failure) {
    return { ...known, failure };
  }
}

interface Directory {
  readonly directory: string;
  /** The certificate of the server that runs here; empty: not known; undefined: none runs here. */
  readonly ownFile?: string | undefined;
  readonly host: string;
  readonly port: number;
  /** Whether agents call the server by that host. */
  readonly isName: boolean;
}

/** By the certificates of a directory, as the bridge names them. */
export async function dialByDirectory(given: Directory): Promise<readonly AgentPort[]> {
  const { directory, host, port, isName, ownFile } = given;
  const [caFile = "", certFile = "", keyFile = ""] = (["ca", "agentCert", "agentKey"] as const).map((name) =>
    pkiFile(directory, name),
  );
  const settings = { servers: [{ host, port }], env: process.env, names: {} };
  if (isName && [caFile, certFile, keyFile].every((file) => existsSync(file)))
    return dialAsAgent({ ...settings, tls: { caFile, certFile, keyFile, alpn: [] } });
  if (ownFile !== undefined || !isName) return [await lookAtOwnPort(given)];
  const tls = { caFile: existsSync(caFile) ? caFile : "", certFile: "", keyFile: "", alpn: [] };
  const [dial] = await dialAsAgent({ ...settings, tls }, true);
  const { certificate: serverCertificate, failure, where } = dial!;
  const isUntold = tls.caFile === "" && failure instanceof DialFailure && failure.code === "DB_TLS_UNKNOWN_CA";
  return [isUntold && serverCertificate !== undefined ? { where, name: host, serverCertificate } : dial!];
}

/** Without a failure, the server has accepted the connection and the agent's certificate. */
export interface AgentDial {
  readonly where: string;
  readonly isAnonymous?: boolean;
  /** The server's, as far as the dial got. */
  readonly certificate?: X509Certificate | undefined;
  readonly failure?: unknown;
}

/** `isAnonymous`: there is no agent's certificate at hand, so that the server is asked nothing after the handshake. */
export function dialAsAgent(
  { env, names, servers, tls }: Omit<AgentSettings, "tokenFile">,
  isAnonymous = false,
): Promise<readonly AgentDial[]> {
  const resolver = new Resolver(names);
  return Promise.all(
    servers.map(async (server): Promise<AgentDial> => {
      const where = joinHostPort(server.host, server.port);
      let secured: Secured | undefined;
      try {
        secured = await connectToServer(server, tls, env, resolver);
        const [certificate] = secured.facts().peer;
        return { where, isAnonymous, certificate, failure: isAnonymous ? undefined : await refusalOf(secured, where) };
      } catch (failure) {
        return {
          where,
          isAnonymous,
          failure,
          certificate: failure instanceof DialFailure ? failure.peer[0] : undefined,
        };
      } finally {
        secured?.socket.destroy();
      }
    }),
  );
}

const ANSWER_MS = 6_000;

/** With TLS 1.3 a server judges the certificate after the handshake has ended for us: only its answer shows that it took it. */
function refusalOf({ socket, facts }: Secured, where: string): Promise<DrawbridgeError | undefined> {
  const { session } = openSession(socket, where, "https");
  return new Promise((resolve) => {
    const late = new DrawbridgeError("DB_SERVER_HEADERS_TIMEOUT", `${where} did not answer a ping in ${ANSWER_MS} ms.`);
    const timer = setTimeout(() => resolve(late), ANSWER_MS);
    session.ping(() => resolve(undefined));
    session.once("close", () => resolve(explainSession(session, facts())));
    socket.once("close", () => clearTimeout(timer));
  });
}
