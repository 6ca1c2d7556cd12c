/** A server's agent port, dialled as an agent dials it. No agent is registered: the handshake is made, and no call. */
import type { X509Certificate } from "node:crypto";
import { existsSync } from "node:fs";
import { connect } from "node:net";
import { joinHostPort } from "../../../base/address.js";
import { DrawbridgeError } from "../../../base/errors/error.js";
import { pkiFile } from "../../../cluster/bootstrap/model/names.js";
import { textAt } from "../../../cluster/bootstrap/settings/programs.js";
import type { AgentConfig } from "../../../tunnel/agent/config.js";
import { connectToServer, type ProxyEnvironment } from "../../../tunnel/agent/connect.js";
import { openSession } from "../../../tunnel/link/open.js";
import { connected } from "../../../tunnel/outgoing/connected.js";
import { connectTimeout, DialFailure, explainConnect, explainSession } from "../../../tunnel/outgoing/explain.js";
import type { Secured } from "../../../tunnel/outgoing/secure.js";
import { readableCertificates } from "../../../tunnel/pki/pem.js";
import { Resolver, type ResolverOptions } from "../../../tunnel/resolver/resolver.js";
import { type Dialled, dialTls } from "./handshake.js";

/** What an agent needs to dial its servers, with files as they are to be read from here. */
export interface AgentSettings extends Pick<AgentConfig, "servers" | "tls" | "tokenFile"> {
  /** The proxies of its environment. */
  readonly env: ProxyEnvironment;
  readonly names: ResolverOptions;
}

/** A server's agent port as an agent gets it, or, where no agent's certificate is at hand, as anybody gets it. */
export type AgentPort = AgentDial | Dialled | OwnPort;

/** The agents' port of the server here: it is not dialled by TLS, which the server would take for a refused agent. */
export interface OwnPort {
  readonly where: string;
  /** What agents call the server, where it is known. */
  readonly name: string | undefined;
  /** Where the server reads its certificate. */
  readonly file: string;
  readonly ownCertificate: X509Certificate;
  /** Why no TCP connection comes about. */
  readonly failure?: unknown;
}

/** Undefined where the server's certificate cannot be read from here. */
async function lookAtOwnPort({ ownFile: file, host, port, isName }: Directory): Promise<OwnPort | undefined> {
  const [leaf] = readableCertificates((file && (await textAt(file))) ?? "");
  if (file === undefined || leaf === undefined) return undefined;
  const where = joinHostPort(host, port);
  const known = { where, file, name: isName ? host : undefined, ownCertificate: leaf.certificate };
  const deadline = AbortSignal.timeout(ANSWER_MS);
  const socket = connect({ host, port });
  try {
    await connected(socket, "connect", deadline, (why) => explainConnect(where, why));
    return known;
  } catch (failure) {
    return { ...known, failure: deadline.aborted ? connectTimeout(where, ANSWER_MS) : failure };
  } finally {
    socket.destroy();
  }
}

interface Directory {
  readonly directory: string;
  /** The certificate of the server that runs here. */
  readonly ownFile?: string | undefined;
  readonly host: string;
  readonly port: number;
  /** Whether agents call the server by that host. */
  readonly isName: boolean;
}

/** By the certificates of a directory, as the bridge names them. */
export async function dialByDirectory(given: Directory): Promise<readonly AgentPort[]> {
  const { directory, host, port, isName } = given;
  const [caFile, certFile, keyFile] = (["ca", "agentCert", "agentKey"] as const).map((name) =>
    pkiFile(directory, name),
  );
  if (isName && [caFile, certFile, keyFile].every((file) => existsSync(file!))) {
    const tls = { caFile: caFile!, certFile: certFile!, keyFile: keyFile!, alpn: [] };
    return dialAsAgent({ servers: [{ host, port }], tls, env: process.env, names: {} });
  }
  const own = await lookAtOwnPort(given);
  if (own !== undefined) return [own];
  return [await dialTls(host, port, "h2", isName ? [host] : [], { file: caFile!, text: await textAt(caFile!) })];
}

/** Without a failure, the server has accepted the connection and the agent's certificate. */
export interface AgentDial {
  readonly where: string;
  /** The server's, as far as the dial got. */
  readonly certificate?: X509Certificate | undefined;
  readonly failure?: unknown;
}

export function dialAsAgent({
  env,
  names,
  servers,
  tls,
}: Omit<AgentSettings, "tokenFile">): Promise<readonly AgentDial[]> {
  const resolver = new Resolver(names);
  return Promise.all(
    servers.map(async (server): Promise<AgentDial> => {
      const where = joinHostPort(server.host, server.port);
      let secured: Secured | undefined;
      try {
        secured = await connectToServer(server, tls, env, resolver);
        const certificate = secured.socket.getPeerX509Certificate();
        return { where, certificate, failure: await refusalOf(secured, where) };
      } catch (failure) {
        return { where, failure, certificate: failure instanceof DialFailure ? failure.peer[0] : undefined };
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
