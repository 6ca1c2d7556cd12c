/** The server's certificate out of a Secret that the server follows anyway: a new one is in force as soon as it is written. */
import { createSecureContext } from "node:tls";
import { messageOf } from "../../../base/errors/error.js";
import type { CertificateSet } from "../../../tunnel/pki/certificate-set.js";
import type { CertificateSource } from "../../ignition/server/serve.js";
import { type Secret, secretText } from "../objects.js";

export class CertificateSecret {
  /** `namespace/name`. */
  readonly #key: string;
  readonly #onProblem: (sentence: string) => void;
  readonly #first: Promise<CertificateSet>;
  #arrived: (set: CertificateSet) => void = () => {};
  #version: string | undefined;
  #current: CertificateSet | undefined;
  #onChange: (set: CertificateSet) => void = () => {};

  constructor(key: string, onProblem: (sentence: string) => void) {
    this.#key = key;
    this.#onProblem = onProblem;
    this.#first = new Promise((resolve) => {
      this.#arrived = resolve;
    });
  }

  /** All Secrets of the namespace, as they are now. One that is gone or broken changes nothing: the last good one stays. */
  changed(items: ReadonlyMap<string, Secret>): void {
    const secret = items.get(this.#key);
    if (secret === undefined || secret.metadata?.resourceVersion === this.#version) return;
    this.#version = secret.metadata?.resourceVersion;
    const set = { cert: secretText(secret, "tls.crt") ?? "", key: secretText(secret, "tls.key") ?? "" };
    if (set.cert === this.#current?.cert && set.key === this.#current.key) return;
    try {
      createSecureContext(set);
      if (set.cert === "" || set.key === "") throw new Error("it needs the keys tls.crt and tls.key");
    } catch (reason) {
      this.#onProblem(`the certificate in the Secret ${this.#key} cannot be used: ${messageOf(reason)}`);
      return;
    }
    this.#current = set;
    this.#arrived(set);
    this.#onChange(set);
  }

  /** The source of certificates, once there is one. */
  async source(): Promise<CertificateSource> {
    const first = await this.#first;
    return (onChange) => {
      this.#onChange = onChange;
      return { current: this.#current ?? first, close: () => {} };
    };
  }
}
