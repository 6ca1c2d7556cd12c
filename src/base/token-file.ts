import { createHash, timingSafeEqual } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { DrawbridgeError } from "./errors/error.js";
import { unreadBecause } from "./errors/unread.js";

/** A token is a line; whatever is larger was put there by mistake. */
const MAX_TOKEN_FILE_BYTES = 64 * 1024;

/** A bearer token that lives in a file and may be replaced there at any time. */
export class TokenFile {
  readonly #path: string;
  readonly #remedy: string | undefined;

  /** `remedy`: where the file is not that of --admin-token-file. */
  constructor(path: string, remedy?: string) {
    this.#path = path;
    this.#remedy = remedy;
  }

  /** Whether an Authorization header carries the token. Throws DB_ADMIN_TOKEN_FILE when there is none to compare with. */
  async accepts(authorization: string | undefined): Promise<boolean> {
    const token = await this.#read();
    const offered = /^Bearer +(\S+) *$/i.exec(authorization ?? "")?.[1];
    if (offered === undefined) return false;
    // Digests have one length, so that not even the token's length shows in the time taken.
    return timingSafeEqual(digest(offered), digest(token));
  }

  /** Changes with the token. Throws as `accepts` does. */
  async digest(): Promise<string> {
    return digest(await this.#read()).toString("base64url");
  }

  /** Read for each request: requests are rare, and a mounted Secret changes without a sign that every file system gives. */
  async #read(): Promise<string> {
    let content: string;
    try {
      const { size } = await stat(this.#path);
      if (size > MAX_TOKEN_FILE_BYTES) throw new Error(`it has ${size} bytes`);
      content = await readFile(this.#path, "utf8");
    } catch (reason) {
      throw this.#unusable(unreadBecause(reason), reason);
    }
    const token = content.trim();
    if (token === "") throw this.#unusable("it is empty");
    return token;
  }

  #unusable(why: string, cause?: unknown): DrawbridgeError {
    const sentence = `The token file ${this.#path} cannot be used: ${why}.`;
    return new DrawbridgeError("DB_ADMIN_TOKEN_FILE", sentence, { cause, remedy: this.#remedy });
  }
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
