/** Connections to an API server through the proxy of its kubeconfig (proxy-url), by HTTP CONNECT or SOCKS5, or of HTTPS_PROXY. */
import { once } from "node:events";
import net, { type Socket } from "node:net";
import { DrawbridgeError, messageOf, reasonOf } from "../../base/errors/error.js";
import { connectThrough } from "../../base/http-connect.js";
import { environmentProxy, type ProxyEnvironment } from "../../tunnel/outgoing/environment-proxy.js";
import { DialFailure, explainConnect } from "../../tunnel/outgoing/explain.js";
import { BY_NAME } from "../../tunnel/resolver/lookup.js";
import { configError } from "./endpoint.js";

const CONNECT_MS = 30_000;

interface Target {
  readonly host: string;
  readonly port: number;
}

type Dial = (proxy: URL, target: Target) => Promise<Socket>;

/** Connects to targets through proxy-url. Throws DB_KUBECONFIG when the text is not the address of one that can be used. */
export function throughProxy(text: string): (target: Target) => Promise<Socket> {
  const proxy = URL.canParse(text) ? new URL(text) : undefined;
  const dial = proxy && dials[proxy.protocol];
  if (proxy === undefined || dial === undefined) {
    throw configError("The proxy-url of the kubeconfig is not the address of an http, https or socks5 proxy.");
  }
  return (target) => dial(proxy, target).catch(failed(proxy, "proxy-url", "DB_API_PROXY"));
}

/** Through the proxy that the environment names for the target, as kubectl does where the kubeconfig names none. */
export const throughEnvironmentProxy =
  (env: ProxyEnvironment, directly: (target: Target) => Promise<Socket>) =>
  async (target: Target): Promise<Socket> => {
    const proxy = environmentProxy(target, env, Object.keys(dials));
    if (proxy === undefined) return await directly(target);
    const { url, variable } = proxy;
    return await dials[url.protocol]!(url, target).catch(failed(url, variable, "DB_HTTPS_PROXY"));
  };

const failed =
  (proxy: URL, of: string, code: "DB_API_PROXY" | "DB_HTTPS_PROXY") =>
  (reason: unknown): never => {
    const explained = explainConnect(proxy.host, reason);
    const why = explained instanceof DialFailure ? reasonOf(explained) : messageOf(reason);
    throw new DrawbridgeError(code, `through the proxy ${proxy.host} of ${of}: ${why}`, { cause: reason });
  };

const dials: Readonly<Record<string, Dial>> = {
  "http:": connectThrough,
  "https:": connectThrough,
  "socks5:": throughSocks5,
  // For Go the two are the same: the proxy resolves the name.
  "socks5h:": throughSocks5,
};

const NO_AUTHENTICATION = 0;
const PASSWORD = 2;

async function throughSocks5(proxy: URL, { host, port }: Target): Promise<Socket> {
  const socket = net.connect({
    ...BY_NAME,
    host: proxy.hostname.replace(/^\[|\]$/g, ""),
    port: Number(proxy.port || 1080),
  });
  const { next, release } = byteReader(socket);
  try {
    const method = proxy.username === "" ? NO_AUTHENTICATION : PASSWORD;
    socket.write(Buffer.of(5, 1, method));
    const [version, chosen] = await next(2);
    if (version !== 5) throw new Error("it does not speak SOCKS5");
    if (chosen !== method) throw new Error("it wants another kind of authentication");
    if (method === PASSWORD) {
      socket.write(Buffer.concat([Buffer.of(1), counted(proxy.username), counted(proxy.password)]));
      if ((await next(2))[1] !== 0) throw new Error("it refused the user name and password of proxy-url");
    }
    const name = Buffer.from(host);
    socket.write(Buffer.concat([Buffer.of(5, 1, 0, 3, name.length), name, Buffer.of(port >> 8, port & 255)]));
    const [, reply, , type] = await next(4);
    if (reply !== 0) throw new Error(`it refused the connection with SOCKS5 code ${reply}`);
    const addressBytes = type === 1 ? 4 : type === 4 ? 16 : (await next(1))[0]!;
    await next(addressBytes + 2);
    release();
    return socket;
  } catch (reason) {
    socket.destroy();
    throw reason;
  }
}

function counted(text: string): Buffer {
  const bytes = Buffer.from(decodeURIComponent(text));
  return Buffer.concat([Buffer.of(bytes.length), bytes]);
}

/** Reads an exact number of bytes at a time from a socket, within one deadline, and leaves the rest to its next owner. */
function byteReader(socket: Socket) {
  const late = AbortSignal.timeout(CONNECT_MS);
  const failed = once(socket, "end", { signal: late }).then(
    () => Promise.reject(new Error("it hung up")),
    (reason: unknown) => Promise.reject(late.aborted ? new Error("it did not answer in time") : reason),
  );
  // The next read reports it; a socket that was handed over has other listeners.
  failed.catch(() => {});
  // One listener for all reads: a stream announces the bytes that are left to every new one, without ever waiting.
  let wake = (): void => {};
  const onReadable = (): void => wake();
  socket.on("readable", onReadable);
  return {
    async next(count: number): Promise<Buffer> {
      for (;;) {
        const readable = new Promise<void>((resolve) => {
          wake = resolve;
        });
        const bytes = socket.read(count) as Buffer | null;
        if (bytes?.length === count) return bytes;
        await Promise.race([readable, failed]);
      }
    },
    release: () => socket.off("readable", onReadable),
  };
}
