/** The proxy that the environment names for connections with TLS, as Go's programs read it: HTTPS_PROXY and NO_PROXY. */
import { joinHostPort } from "../../base/address.js";
import { bypassesProxy } from "../wire/no-proxy.js";
import { explainProxy } from "./explain.js";

/** The variables that name a proxy: HTTPS_PROXY and NO_PROXY, in either case. */
export type ProxyEnvironment = Readonly<Record<string, string | undefined>>;

export interface EnvironmentProxy {
  readonly url: URL;
  readonly variable: string;
}

/** The variable's text is never repeated: it may hold a password. */
export function environmentProxy(
  server: { readonly host: string; readonly port: number },
  env: ProxyEnvironment,
  schemes: readonly string[] = ["http:", "https:"],
): EnvironmentProxy | undefined {
  // Go takes the first that is not empty.
  const variable = env.HTTPS_PROXY ? "HTTPS_PROXY" : "https_proxy";
  const text = env[variable] || "";
  if (text === "" || bypassesProxy(env.NO_PROXY || env.no_proxy || "", server.host, server.port)) return undefined;
  const where = joinHostPort(server.host, server.port);
  const full = text.includes("://") ? text : `http://${text}`;
  const scheme = /^[a-z][a-z\d+.-]*:\/\//i.exec(full)?.[0].toLowerCase() ?? "";
  const url = URL.canParse(full) ? new URL(full) : undefined;
  if (scheme !== "" && !schemes.includes(scheme.slice(0, -2))) {
    throw explainProxy(
      where,
      `${variable} begins with ${scheme}, and only proxies of ${schemes.map((each) => `${each}//`).join(" and ")} can be used`,
    );
  }
  if (url === undefined || url.hostname === "") {
    throw explainProxy(where, `${variable} is not the URL of a proxy: write http://host:port or https://host:port`);
  }
  return { url, variable };
}
