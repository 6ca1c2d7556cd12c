/** An HTTP proxy by its URL, as environment variables and flags give it. */
import { DrawbridgeError } from "../../../base/errors/error.js";
import type { Target } from "../way.js";

export interface HttpProxy extends Target {
  /** Whether the connection to the proxy itself is TLS. */
  readonly secure: boolean;
  /** The value of Proxy-Authorization; undefined: no login. */
  readonly authorization: string | undefined;
}

/** Undefined for an empty text. As in Go, a URL without a scheme is `http://`. The text is never repeated: it may hold a password. */
export function parseProxyUrl(text: string, what: string): HttpProxy | undefined {
  if (text === "") return undefined;
  const full = text.includes("://") ? text : `http://${text}`;
  const url = URL.canParse(full) ? new URL(full) : undefined;
  if (url === undefined || url.hostname === "" || !/^https?:$/.test(url.protocol)) {
    const message = `${what} is not the URL of an HTTP proxy: write http://host:port or https://host:port.`;
    throw new DrawbridgeError("DB_FLAG_VALUE", message);
  }
  const secure = url.protocol === "https:";
  return {
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: Number(url.port || (secure ? 443 : 80)),
    secure,
    authorization: authorizationOf(url),
  };
}

function authorizationOf({ username, password }: URL): string | undefined {
  if (username === "" && password === "") return undefined;
  return `Basic ${Buffer.from(`${decoded(username)}:${decoded(password)}`).toString("base64")}`;
}

/** A percent sign that encodes nothing stands for itself. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
