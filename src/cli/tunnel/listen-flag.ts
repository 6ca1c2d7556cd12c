/**
 * One front door as written behind --listen: MODE+TRANSPORT:ADDRESS[,key=value...]
 *
 *   http-connect+uds:/run/k.sock,mode=0660,owner=0:1000
 *   grpc+uds:/run/g.sock
 *   http-connect+tcp:0.0.0.0:8090,cert=tls.crt,key=tls.key,ca=ca.crt
 *   grpc+tcp:[::1]:8443          TLS files of --server-cert, --server-key, --server-ca-cert
 */

import { splitHostPort } from "../../base/address.js";
import type { FrontendMode, ListenerConfig, TlsFiles } from "../../tunnel/server/config.js";
import { parsePort } from "./port.js";
import { type Owner, parseFileMode, parseOwner } from "./socket-file.js";

/** What a door has when its own text does not say. */
export interface DoorDefaults {
  readonly deleteExisting: boolean;
  readonly fileMode: number;
  readonly owner: Owner | undefined;
  readonly tls: TlsFiles;
}

/** Throws an Error with one sentence. */
export function parseListen(text: string, defaults: DoorDefaults): ListenerConfig {
  const [door = "", ...settings] = text.split(",");
  const match = /^(grpc|http-connect)\+(uds|tcp):(.+)$/s.exec(door);
  if (!match) {
    const example = "http-connect+uds:/run/k.sock or grpc+tcp:0.0.0.0:8090";
    throw new Error(`--listen ${text} must look like MODE+TRANSPORT:ADDRESS, e.g. ${example}`);
  }
  const [, mode, transport, address = ""] = match;
  const options = parseSettings(text, settings, transport === "uds" ? ["mode", "owner"] : ["cert", "key", "ca"]);
  return transport === "uds"
    ? udsDoor(mode as FrontendMode, address, options, defaults)
    : tcpDoor(text, mode as FrontendMode, address, options, defaults.tls);
}

function parseSettings(text: string, settings: readonly string[], allowed: readonly string[]): Map<string, string> {
  const options = new Map<string, string>();
  for (const setting of settings) {
    const [, key = "", value = ""] = /^([^=]*)=(.+)$/s.exec(setting) ?? [];
    if (!allowed.includes(key) || options.has(key)) {
      throw new Error(`--listen ${text} has the setting ${setting}; allowed are, once each: ${allowed.join("=, ")}=`);
    }
    options.set(key, value);
  }
  return options;
}

function udsDoor(
  mode: FrontendMode,
  path: string,
  options: Map<string, string>,
  defaults: DoorDefaults,
): ListenerConfig {
  const fileMode = options.get("mode");
  const ownerText = options.get("owner");
  const owner = ownerText === undefined ? defaults.owner : parseOwner(ownerText);
  return {
    mode,
    transport: "uds",
    path,
    deleteExisting: defaults.deleteExisting,
    fileMode: fileMode === undefined ? defaults.fileMode : parseFileMode(fileMode),
    ...(owner && { owner }),
  };
}

function tcpDoor(
  text: string,
  mode: FrontendMode,
  address: string,
  options: Map<string, string>,
  tls: TlsFiles,
): ListenerConfig {
  const split = splitHostPort(address);
  if ("error" in split) throw new Error(`--listen ${text} has no usable address: ${split.error}`);
  const port = parsePort(split.port);
  if (port === undefined) throw new Error(`--listen ${text} needs a port from 1 to 65535`);
  const files = {
    certFile: options.get("cert") ?? tls.certFile,
    keyFile: options.get("key") ?? tls.keyFile,
    clientCaFile: options.get("ca") ?? tls.clientCaFile,
  };
  for (const [setting, file, flag] of [
    ["cert", files.certFile, "--server-cert"],
    ["key", files.keyFile, "--server-key"],
    ["ca", files.clientCaFile, "--server-ca-cert"],
  ]) {
    if (file === "") throw new Error(`--listen ${text} is a TCP door and needs ${setting}= or ${flag}`);
  }
  return { mode, transport: "tcp", host: split.host, port, tls: files };
}
