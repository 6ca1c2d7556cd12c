import type { ProxyUrls } from "../config/config.js";

/** A proxy's URL from its Secret, so that it is in no pod's specification. */
export const fromSecret = (name: string, key: ProxyKey) => ({ valueFrom: { secretKeyRef: { name, key } } });

type ProxyKey = "httpProxy" | "httpsProxy";

export function proxyVariables({ http, https, secret }: ProxyUrls, noProxy: string) {
  const url = (key: ProxyKey, value: string) => (secret === undefined ? { value } : fromSecret(secret, key));
  return [
    { name: "HTTP_PROXY", ...url("httpProxy", http) },
    { name: "HTTPS_PROXY", ...url("httpsProxy", https) },
    { name: "NO_PROXY", value: noProxy },
  ];
}
