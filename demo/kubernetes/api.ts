import { readFileSync } from "node:fs";
import { request } from "node:https";
import type { CertFiles } from "../../test/support/processes/certs.js";
import { within } from "../../test/support/processes/deadline.js";

export interface ApiAnswer {
  readonly status: number;
  readonly body: string;
  /** The text of every Warning header. */
  readonly warnings: readonly string[];
}

/** The Kubernetes API as an administrator sees it. */
export class Api {
  readonly #port: number;
  readonly #tls: { readonly ca: Buffer; readonly cert: Buffer; readonly key: Buffer };

  constructor(port: number, { ca, cert, key }: CertFiles) {
    this.#port = port;
    this.#tls = { ca: readFileSync(ca), cert: readFileSync(cert), key: readFileSync(key) };
  }

  get(path: string): Promise<ApiAnswer> {
    return this.#send("GET", path);
  }

  post(path: string, object: object): Promise<ApiAnswer> {
    return this.#send("POST", path, JSON.stringify(object));
  }

  #send(method: string, path: string, body = ""): Promise<ApiAnswer> {
    const answered = new Promise<ApiAnswer>((resolve, reject) => {
      const headers = { "content-type": "application/json" };
      const call = request({ host: "127.0.0.1", port: this.#port, method, path, headers, agent: false, ...this.#tls });
      call.once("error", reject);
      call.once("response", (response) => {
        const warnings = [response.headers.warning ?? []].flat().map(textOfWarning);
        response
          .toArray()
          .then((chunks) =>
            resolve({ status: response.statusCode ?? 0, body: String(Buffer.concat(chunks)), warnings }),
          )
          .catch(reject);
      });
      call.end(body);
    });
    return within(15_000, `the kube-apiserver's answer to ${method} ${path}`, answered);
  }
}

/** `299 - "text"` */
function textOfWarning(header: string): string {
  return /^\d+ \S+ "(.*)"$/.exec(header)?.[1] ?? header;
}
