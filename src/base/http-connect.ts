/** Connections through an HTTP proxy: the client's side of CONNECT. */
import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import type { Socket } from "node:net";
import { joinHostPort } from "./address.js";

const CONNECT_MS = 30_000;

/** Resolves with the connection to the target, opened by the proxy (http: or https:, with or without a login). */
export function connectThrough(
  proxy: URL,
  target: { readonly host: string; readonly port: number },
  signal?: AbortSignal,
): Promise<Socket> {
  const path = joinHostPort(target.host, target.port);
  return new Promise((resolve, reject) => {
    const refuse = ({ statusCode, statusMessage }: IncomingMessage): void =>
      reject(new Error(`it answered CONNECT with ${statusCode} ${statusMessage}`));
    const request = (proxy.protocol === "https:" ? httpsRequest : httpRequest)({
      agent: false,
      host: proxy.hostname.replace(/^\[|\]$/g, ""),
      port: proxy.port || (proxy.protocol === "https:" ? 443 : 80),
      method: "CONNECT",
      path,
      headers: { host: path, ...proxyLogin(proxy) },
      timeout: CONNECT_MS,
      ...(signal === undefined ? {} : { signal }),
    });
    request.once("connect", (answer, socket: Socket) => {
      socket.setTimeout(0);
      if (answer.statusCode === 200) return resolve(socket);
      socket.destroy();
      refuse(answer);
    });
    request.once("response", (answer) => {
      answer.destroy();
      refuse(answer);
    });
    request.once("timeout", () => request.destroy(new Error("it did not answer in time")));
    request.once("error", reject);
    request.end();
  });
}

/** The header for the user name and password in the proxy's URL, if it has them. */
export function proxyLogin({ username, password }: URL): { readonly "proxy-authorization"?: string } {
  if (username === "" && password === "") return {};
  const login = `${decoded(username)}:${decoded(password)}`;
  return { "proxy-authorization": `Basic ${Buffer.from(login).toString("base64")}` };
}

/** A percent sign that encodes nothing stands for itself. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
