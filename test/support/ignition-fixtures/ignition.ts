/** bootstrap.ign files of every kind, as text. */
import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { bootkubeScript } from "./bootkube.js";
import { nothing, releaseImage, serviceRecord } from "./libraries.js";
import { clusterManifests, type Networks } from "./manifests.js";
import type { Shape } from "./releases.js";
import { upstreamFunctions, upstreamManifests } from "./upstream.js";

/** How a content is spelt; the installer's own way is base64 of the plain bytes without a hash. */
export interface Spelling {
  readonly encoding?: "base64" | "percent" | "percent, as few as possible";
  readonly mediaType?: string;
  readonly gzip?: boolean;
  readonly hash?: "sha512" | "sha256";
}

export interface FixtureOptions {
  readonly networks?: Networks;
  readonly releaseImage?: string;
  /** Of bootkube.sh. */
  readonly spelling?: Spelling;
  /** Changes the script before it goes in. */
  readonly script?: (script: string) => string;
  readonly extraFiles?: readonly object[];
  /** White space as a person's editor or jq leaves it. */
  readonly indent?: number;
}

const SCRIPT = 0o555;
const PRIVATE = 0o600;
const PUBLIC = 0o644;
const BIN = "/usr/local/bin";
const ASSETS = "/opt/openshift";

export function bootstrapIgnition(shape: Shape, options: FixtureOptions = {}): string {
  return ignitionText(bootstrapConfig(shape, options), options.indent);
}

/** The installer ends its file without a newline. */
export const ignitionText = (config: object, indent?: number): string => JSON.stringify(config, undefined, indent);

export function bootstrapConfig(shape: Shape, options: FixtureOptions = {}) {
  const script = (options.script ?? ((text) => text))(bootkubeScript(shape));
  return {
    ignition: { version: shape.spec },
    passwd: { users: [{ name: "core", sshAuthorizedKeys: ["ssh-ed25519 AAAA fixture"] }] },
    storage: { files: [...files(shape, script, options), ...(options.extraFiles ?? [])] },
    systemd: { units: [{ contents: "[Unit]\nDescription=fixture\n", name: "bootkube.service" }] },
    // No installer writes these; whatever stands here has to come through.
    "x-unknown": { 10: 1.0, 2: [1e3, null, "\u00e9\u2028"], nested: { "": {} } },
  };
}

function files(shape: Shape, script: string, options: FixtureOptions): object[] {
  const { integration, sources, version, inPlace } = shape;
  const shipped = integration === "none" ? [] : Object.entries(upstreamManifests);
  return [
    motd(),
    file(`${BIN}/release-image.sh`, SCRIPT, releaseImage(options.releaseImage ?? DIGEST)),
    file(`${BIN}/bootkube.sh`, SCRIPT, script, options.spelling),
    ...(sources.includes("service-record") ? [file(`${BIN}/bootstrap-service-record.sh`, SCRIPT, serviceRecord)] : []),
    ...(["cluster-gather", "verify-api-server-urls"] as const)
      .filter((name) => sources.includes(name))
      .map((name) => file(`${BIN}/bootstrap-${name}.sh`, SCRIPT, nothing)),
    ...(inPlace === "true" ? [file(`${BIN}/install-to-disk.sh`, SCRIPT, nothing)] : []),
    ...(integration === "none"
      ? []
      : [
          file(`${BIN}/konnectivity.sh`, SCRIPT, upstreamFunctions(integration === "on")),
          file(`${BIN}/konnectivity-certs.sh`, SCRIPT, nothing),
        ]),
    ...shipped.map(([name, text]) => file(`${ASSETS}/${name}`, PRIVATE, text)),
    ...Object.entries(clusterManifests(options.networks, version)).map(([name, text]) =>
      file(`${ASSETS}/${name}`, PUBLIC, text),
    ),
  ];
}

const DIGEST = `quay.io/openshift-release-dev/ocp-release@sha256:${"0".repeat(64)}`;

function motd(): object {
  const source = sourceOf("fixture\n", {});
  return { overwrite: false, path: "/etc/motd", user: { name: "root" }, append: [{ source }], mode: PUBLIC };
}

/** Members in the order in which Go writes them. */
export function file(path: string, mode: number, text: string, spelling: Spelling = {}): object {
  const hash = spelling.hash === undefined ? {} : { hash: `${spelling.hash}-${digest(spelling.hash, text)}` };
  return {
    overwrite: true,
    path,
    user: { name: "root" },
    contents: {
      ...(spelling.gzip ? { compression: "gzip" } : {}),
      source: sourceOf(text, spelling),
      ...(spelling.hash === undefined ? {} : { verification: hash }),
    },
    mode,
  };
}

const digest = (kind: string, text: string) => createHash(kind).update(text).digest("hex");

function sourceOf(text: string, { encoding = "base64", mediaType, gzip }: Spelling): string {
  const head = `data:${mediaType ?? "text/plain;charset=utf-8"}`;
  // A level of its own, so that no second compression gives the same bytes by chance.
  const bytes = gzip ? gzipSync(text, { level: 1 }) : Buffer.from(text);
  if (encoding === "base64") return `${head};base64,${bytes.toString("base64")}`;
  if (gzip) return `${head},${bytes.toString("hex").replace(/../g, "%$&")}`;
  return `${head},${encoding === "percent" ? encodeURIComponent(text) : encodeURI(text).replace(/#/g, "%23")}`;
}
