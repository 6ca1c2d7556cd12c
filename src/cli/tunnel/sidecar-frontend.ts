/**
 * A proxy-server's front door as written behind --frontend: MODE+TRANSPORT:ADDRESS[,key=value...], the words of the
 * server's own --listen.
 *
 *   http-connect+tcp:konnectivity-server-local:8090
 *   http-connect+tcp:10.0.0.7:8090,servername=konnectivity-server-local,ca=ca.crt,cert=tls.crt,key=tls.key
 *   grpc+uds:/run/konnectivity.sock
 */
import type { Frontend, FrontendProtocol, FrontendTls } from "../../tunnel/client/frontend.js";
import { targetOf } from "./sidecar-process-flags.js";

const TLS_SETTINGS: Readonly<Record<string, keyof FrontendTls>> = {
  servername: "servername",
  ca: "caFile",
  cert: "certFile",
  key: "keyFile",
};

/** Throws an Error with one sentence. */
export function parseFrontend(text: string, tls: FrontendTls): Frontend {
  const [door = "", ...settings] = text.split(",");
  const [, mode, transport, address = ""] = /^(grpc|http-connect)\+(uds|tcp):(.+)$/s.exec(door) ?? [];
  if (mode === undefined) {
    throw new Error(`--frontend ${text} must look like MODE+TRANSPORT:ADDRESS, e.g. http-connect+tcp:server:8090`);
  }
  if (transport === "uds") {
    if (settings.length > 0) throw new Error(`--frontend ${text} is a unix socket and takes no settings`);
    return { mode: mode as FrontendProtocol, uds: address };
  }
  const target = targetOf(address);
  if (target === undefined) throw new Error(`--frontend ${text} needs an address of the form host:port`);
  return { mode: mode as FrontendProtocol, ...target, tls: { ...tls, ...settingsOf(text, settings) } };
}

function settingsOf(text: string, settings: readonly string[]): FrontendTls {
  const tls: { -readonly [Key in keyof FrontendTls]: FrontendTls[Key] } = {};
  for (const setting of settings) {
    const [, key = "", value = ""] = /^([^=]*)=(.+)$/s.exec(setting) ?? [];
    const name = Object.hasOwn(TLS_SETTINGS, key) ? TLS_SETTINGS[key] : undefined;
    if (name === undefined || tls[name] !== undefined) {
      throw new Error(
        `--frontend ${text} has the setting ${setting}; allowed are, once each: servername=, ca=, cert=, key=`,
      );
    }
    tls[name] = value;
  }
  return tls;
}
