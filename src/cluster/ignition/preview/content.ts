/** What a file or an authority holds, as far as it may be told. */
import { X509Certificate } from "node:crypto";
import { DrawbridgeError } from "../../../base/errors/error.js";
import { pemBlocks } from "../../../tunnel/pki/pem.js";
import { inlineContent, isInline } from "../data/resource.js";
import type { Resource } from "../model/config.js";
import { secretIn, shownSource } from "./secrets.js";

export interface Content {
  /** Bytes once unpacked; absent when they are elsewhere or cannot be read. */
  readonly size?: number;
  /** Where the bytes are when they are not in the config. */
  readonly source?: string;
  /** Why they cannot be read. */
  readonly broken?: string;
  /** The kind of secret it is. */
  readonly secret?: string;
  readonly certificates?: readonly Certificate[];
}

export interface Certificate {
  readonly subject: string;
  readonly notAfter: Date;
}

export function contentOf(resource: Resource, path: string): Content {
  const { source = "" } = resource;
  if (!isInline(resource)) return { source: shownSource(source) };
  const bytes = bytesOf(resource, path);
  if (typeof bytes === "string") return { broken: bytes };
  const secret = secretIn(path, bytes);
  const certificates = certificatesIn(bytes);
  return { size: bytes.length, ...(secret && { secret }), ...(certificates.length > 0 && { certificates }) };
}

/** The content, or the sentence that says why there is none. */
export function bytesOf(resource: Resource, path: string): Buffer | string {
  try {
    return inlineContent(resource, `the content of ${path}`);
  } catch (error) {
    if (error instanceof DrawbridgeError) return error.message;
    throw error;
  }
}

/** Bundles hold hundreds; the ones that end first are what matters. */
const MOST_CERTIFICATES = 500;

/** All the authorities of the web have less than 300 kB. */
const LARGEST_BUNDLE = 1024 * 1024;

function certificatesIn(bytes: Buffer): Certificate[] {
  if (bytes.length > LARGEST_BUNDLE) return [];
  const blocks = pemBlocks(bytes.toString("latin1")).filter(({ label }) => /^(?:TRUSTED )?CERTIFICATE$/.test(label));
  return blocks
    .slice(0, MOST_CERTIFICATES)
    .flatMap(({ text }) => readable(text))
    .sort((a, b) => a.notAfter.getTime() - b.notAfter.getTime());
}

/** A block that is no certificate after all is the machine's problem, not the preview's. */
function readable(pem: string): Certificate[] {
  try {
    const { subject, validTo } = new X509Certificate(pem);
    return [{ subject: subject?.split("\n").reverse().join(",") ?? "", notAfter: new Date(validTo) }];
  } catch {
    return [];
  }
}
