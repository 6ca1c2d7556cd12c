/** Claim rules in a file, read again when it changes. Apart from claims.ts because only this needs the YAML library. */
import { readFileSync } from "node:fs";
import { parse } from "yaml";
import { DrawbridgeError, messageOf } from "../../../base/errors/error.js";
import { FollowedFiles, type FollowOptions } from "../../pki/followed-files.js";
import { type ClaimRules, parseClaimRules } from "./claims.js";

/** Half a file may be good YAML with fewer rules, and those would send agents away. */
const QUIET_MS = 1000;

interface ReadRules {
  readonly text: string;
  readonly rules: ClaimRules;
}

/** YAML or JSON. Throws when the file cannot be used at first; later the last good rules stay in force. */
export class ClaimRulesFile {
  readonly #followed: FollowedFiles<ReadRules>;

  constructor(file: string, { onChange, ...options }: FollowOptions<ClaimRules> = {}) {
    this.#followed = new FollowedFiles<ReadRules>(
      { paths: [file], read: () => read(file), isSame: (a, b) => a.text === b.text, quietMs: QUIET_MS },
      { ...options, onChange: ({ rules }) => onChange?.(rules) },
    );
  }

  get current(): ClaimRules {
    return this.#followed.current.rules;
  }

  /** Looks at the file now; true when new rules came into force. */
  check(): boolean {
    return this.#followed.check();
  }

  close(): void {
    this.#followed.close();
  }
}

function read(file: string): ReadRules {
  let text: string;
  let document: unknown;
  try {
    text = readFileSync(file, "utf8");
    document = parse(text);
  } catch (cause) {
    throw new DrawbridgeError("DB_CLAIMS_FILE", `${file} cannot be read: ${messageOf(cause)}`, { cause });
  }
  return { text, rules: parseClaimRules(document, file) };
}
