/** Who may use the admin API: whoever knows the token or has a session, under a name that is really ours, and no other site. */
import { X509Certificate } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { systemClock } from "../../../base/clock.js";
import { type ErrorCode, remedies } from "../../../base/errors/catalogue.js";
import { causeFields, messageOf } from "../../../base/errors/error.js";
import { RateLimit } from "../../../base/rate-limit.js";
import { TokenFile } from "../../../base/token-file.js";
import { noteChannel } from "../../../tunnel/events/channels.js";
import { isFor } from "../../../tunnel/pki/pem.js";
import { ApiFailure } from "./failure.js";
import { askingSite, hostOf, isLoopback, isOurName } from "./own-name.js";
import { type PageSession, Sessions } from "./sessions.js";

export interface GuardOptions {
  /** The role, for notes about an unusable token file. */
  readonly source: object;
  /** Empty: the API stays closed. */
  readonly tokenFile: string;
  /** The host the admin port was bound to; empty for all interfaces. */
  readonly host: string;
  /** Of this start of the process. */
  readonly instance: string;
  /** Told of whoever logs in, and of a client that shows the right token in a header after a wrong one. */
  readonly onAccepted?: (socket: Socket) => void;
  /** Told of whoever shows a wrong token. Nobody is counted who shows none: so does everybody who opens the page. */
  readonly onRefused?: (socket: Socket, refusal: { readonly code: ErrorCode; readonly reason: string }) => void;
}

/** Guesses at the token through the login; a script has the header, where a guess costs as much. */
const LOGIN_BURST = 10;
const LOGINS_PER_SECOND = 1;

const MOST_MISTAKEN = 256;

export class Guard {
  readonly #options: GuardOptions;
  readonly #tokens: TokenFile | undefined;
  readonly #sessions: Sessions;
  readonly #guesses = new RateLimit(systemClock, LOGINS_PER_SECOND, LOGIN_BURST);
  /** Clients whose last token was wrong. */
  readonly #mistaken = new Set<string>();
  #complained = false;

  constructor(options: GuardOptions) {
    this.#options = options;
    this.#tokens = options.tokenFile === "" ? undefined : new TokenFile(options.tokenFile);
    this.#sessions = new Sessions(options.instance);
  }

  /** Throws unless the request may be answered; a session where it came with one. */
  async admit(message: IncomingMessage): Promise<PageSession | undefined> {
    this.admitAddress(message);
    const site = this.#refuseOtherSites(message);
    const tokens = this.#openTokens();
    const { authorization, cookie } = message.headers;
    if (authorization !== undefined) {
      if (await this.#reading(tokens.accepts(authorization))) {
        if (this.#mistaken.delete(clientOf(message))) this.#options.onAccepted?.(message.socket);
        return undefined;
      }
      this.#noteWrongToken(message);
      throw unauthenticated();
    }
    const session = cookie && this.#sessions.find(cookie, await this.#reading(tokens.digest()));
    if (!session) throw unauthenticated();
    if (message.method !== "GET" && message.method !== "HEAD" && site !== "own") throw foreign();
    return session;
  }

  /** Where the page itself may be had: no token, but the other checks. */
  admitAddress(message: IncomingMessage): void {
    const { host } = message.headers;
    const socket = message.socket as TLSSocket;
    const names = [this.#options.host, socket.localAddress];
    if (!isOurName(host, names) && !certificateNames(socket, host)) {
      throw new ApiFailure(
        403,
        "wrong-host",
        "the API answers only to its own address, and the Host header names another",
      );
    }
    if (socket.encrypted !== true && !isLoopback(socket.localAddress)) throw closed("DB_ADMIN_TLS");
  }

  /** Before what somebody sends along is even read. */
  admitLogin(message: IncomingMessage): void {
    this.admitAddress(message);
    this.#refuseOtherSites(message);
    this.#openTokens();
  }

  /** Answers the cookie to set. */
  async logIn(message: IncomingMessage, token: string): Promise<string> {
    this.admitLogin(message);
    const tokens = this.#openTokens();
    if (!(await this.#reading(tokens.accepts(`Bearer ${token}`)))) {
      this.#noteWrongToken(message);
      if (this.#guesses.take()) throw unauthenticated("this is not the token in the file of --admin-token-file");
      throw new ApiFailure(429, "too-many", "too many wrong tokens; wait a second");
    }
    this.#options.onAccepted?.(message.socket);
    return this.#sessions.open(await this.#reading(tokens.digest()), isEncrypted(message));
  }

  #noteWrongToken(message: IncomingMessage): void {
    const { socket } = message;
    this.#mistaken.add(clientOf(message));
    if (this.#mistaken.size > MOST_MISTAKEN)
      for (const oldest of this.#mistaken) if (this.#mistaken.delete(oldest)) break;
    const reason = "it showed another token than that of --admin-token-file";
    this.#options.onRefused?.(socket, { code: "DB_ADMIN_REFUSED", reason });
  }

  logOut(message: IncomingMessage): string {
    return this.#sessions.close(message.headers.cookie, isEncrypted(message));
  }

  #refuseOtherSites(message: IncomingMessage): "own" | "unsaid" {
    const site = askingSite(message, isEncrypted(message) ? "https" : "http");
    if (site === "foreign") throw foreign();
    return site;
  }

  #openTokens(): TokenFile {
    if (this.#tokens === undefined) throw closed("DB_ADMIN_CLOSED");
    return this.#tokens;
  }

  async #reading<T>(asked: Promise<T>): Promise<T> {
    try {
      const answer = await asked;
      this.#complained = false;
      return answer;
    } catch (reason) {
      // Once per trouble: anybody can ask, and nobody should be able to fill the log by asking.
      if (!this.#complained) {
        const fields = causeFields(reason);
        noteChannel.publish({ source: this.#options.source, level: "error", message: messageOf(reason), fields });
      }
      this.#complained = true;
      throw new ApiFailure(503, "DB_ADMIN_TOKEN_FILE", "the admin token file cannot be used; the log says why");
    }
  }
}

/** By its program, too: whoever asks who was refused shows a token, often from the same host. */
function clientOf({ socket, headers }: IncomingMessage): string {
  return `${socket.remoteAddress} ${headers["user-agent"]?.slice(0, 200)}`;
}

function isEncrypted({ socket }: IncomingMessage): boolean {
  return (socket as TLSSocket).encrypted === true;
}

/** Over TLS a name that our certificate has is ours: the browser has checked it. */
function certificateNames(socket: TLSSocket, hostHeader: string | undefined): boolean {
  const own = socket.encrypted === true ? socket.getCertificate() : null;
  if (own === null || !("raw" in own)) return false;
  const certificate = new X509Certificate((own as { raw: Buffer }).raw);
  const host = hostOf(hostHeader ?? "");
  return host !== "" && isFor(certificate, host);
}

function unauthenticated(why = "send the admin token as Authorization: Bearer <token>, or log in"): ApiFailure {
  return new ApiFailure(401, "unauthenticated", why, {
    headers: { "WWW-Authenticate": 'Bearer realm="drawbridge"' },
  });
}

function foreign(): ApiFailure {
  return new ApiFailure(403, "cross-site", "the request was sent by a page of another site");
}

const CLOSED_BECAUSE = {
  DB_ADMIN_TLS: "The admin API is spoken in the clear on loopback only.",
  DB_ADMIN_CLOSED: "The admin API is closed, because there is no token to ask for.",
};

function closed(code: keyof typeof CLOSED_BECAUSE): ApiFailure {
  return new ApiFailure(403, code, CLOSED_BECAUSE[code], { remedy: remedies[code] });
}
