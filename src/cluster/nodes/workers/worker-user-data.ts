/** A pool's user data made one worker's: with its name, and with another way to the Ignition server where that is wanted. */
import { isIP } from "node:net";
import { DrawbridgeError } from "../../../base/errors/error.js";
import { requireConfig } from "../../ignition/parse.js";
import { encoded } from "../objects.js";
import { usableToken } from "../token/token-secret.js";

export interface Tailoring {
  readonly name: string;
  /** The node is called what its machine calls itself, and only expected nodes are let in. */
  readonly setHostname: boolean;
  /** `10.0.0.1` or `10.0.0.1:443`, for machines that cannot resolve names. Empty: as published. */
  readonly ignitionAddress: string;
  /** Instead of the pool's. */
  readonly token?: string | undefined;
}

interface Source {
  readonly source: string;
  readonly httpHeaders?: readonly { readonly name: string; readonly value: string }[];
}

interface Pointer {
  readonly ignition: { readonly config: { readonly merge: readonly Source[] } };
  readonly storage?: { readonly files?: readonly { readonly path: string }[] };
}

export function workerUserData(poolText: string, { ignitionAddress, name, setHostname, token }: Tailoring): string {
  // Whoever made it: what a machine would refuse must not get that far.
  requireConfig(poolText, "the pool's user data");
  const config = JSON.parse(poolText) as Pointer;
  const text = JSON.stringify({
    ...config,
    ignition: {
      ...config.ignition,
      config: {
        ...config.ignition.config,
        merge: (config.ignition.config?.merge ?? []).map((source) => ({
          ...source,
          ...(token === undefined ? {} : { httpHeaders: withToken(source, token) }),
          source: reachedAt(source.source, ignitionAddress),
        })),
      },
    },
    ...(setHostname ? { storage: withHostname(config.storage, name) } : {}),
  });
  requireConfig(text, `the user data of ${name}`);
  return text;
}

function withToken({ httpHeaders = [] }: Source, token: string) {
  const value = `Bearer ${encoded(usableToken(token))}`;
  const isOther = (header: { readonly name: string }) => header.name.toLowerCase() !== "authorization";
  return [{ name: "Authorization", value }, ...httpHeaders.filter(isOther)];
}

/** Whatever else the pool's user data brings stays. */
function withHostname(storage: Pointer["storage"], name: string) {
  const path = "/etc/hostname";
  const file = { path, mode: 0o644, overwrite: true, contents: { source: `data:,${name}%0A` } };
  return { ...storage, files: [...(storage?.files ?? []).filter((other) => other.path !== path), file] };
}

function reachedAt(source: string, address: string): string {
  if (address === "") return source;
  const url = new URL(source);
  const [, host = "", port] =
    /^(\[[^\]]+\]|[^:]+)(?::(\d+))?$/.exec(isIP(address) === 6 ? `[${address}]` : address) ?? [];
  if (isIP(host.replace(/^\[|\]$/g, "")) === 0) {
    throw new DrawbridgeError("DB_WORKERS", `"${address}" is no address such as 10.0.0.1 or 10.0.0.1:443`);
  }
  url.host =
    port === undefined && url.port !== "" ? `${host}:${url.port}` : port === undefined ? host : `${host}:${port}`;
  return url.href;
}
