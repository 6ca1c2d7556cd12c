/** The live page: one file that the build puts beside the program, and the policy under which browsers may run it. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { getAsset, isSea } from "node:sea";

export interface LivePage {
  readonly html: Buffer;
  /** Content-Security-Policy. */
  readonly csp: string;
}

/** From the bundle (dist/bundle), from the library (dist/lib/insight/observe/admin), from the sources (src/insight/observe/admin). */
const PLACES = ["../page/index.html", "../../../../page/index.html", "../../../../dist/page/index.html"];

/** Undefined where the page was not built. */
export function readLivePage(base: string = import.meta.url): LivePage | undefined {
  // The single executable has nothing beside it, and carries the page inside.
  if (isSea()) return livePage(Buffer.from(getAsset("page/index.html")));
  for (const place of PLACES) {
    try {
      return livePage(readFileSync(new URL(place, base)));
    } catch {
      // Not there; perhaps at the next place.
    }
  }
  return undefined;
}

/** Only the scripts and styles that are in the file itself may run, each known by its hash; and only we may be asked. */
export function livePage(html: Buffer): LivePage {
  const text = html.toString("utf8");
  const csp = [
    "default-src 'none'",
    `script-src ${hashesOf(text, "script")}`,
    `style-src ${hashesOf(text, "style")}`,
    "connect-src 'self'",
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
  return { html, csp };
}

function hashesOf(html: string, tag: "script" | "style"): string {
  const contents = html.matchAll(new RegExp(`<${tag}(?:\\s[^>]*)?>([\\s\\S]*?)</${tag}\\s*>`, "gi"));
  // Browsers read CR LF as LF before they compare.
  const hashes = [...contents].map(([, inner = ""]) => sha256(inner.replace(/\r\n?/g, "\n")));
  return hashes.length === 0 ? "'none'" : hashes.map((hash) => `'sha256-${hash}'`).join(" ");
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("base64");
}
