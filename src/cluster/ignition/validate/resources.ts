/** Everything that is fetched: sources, headers, hashes, proxies. */
import { readDataUrl } from "../../../base/data-url.js";
import { digestLengths } from "../data/verification.js";
import type { Problems } from "../finding.js";
import type { JsonPath } from "../json-path.js";
import type { ProxySettings, Resource } from "../model/config.js";
import type { Minor } from "../model/spec.js";
import { queryValue, takeApart } from "./url.js";

/** File contents, keys and, from 3.1 on, everything else that is fetched. */
export function checkResource(resource: Resource, path: JsonPath, minor: Minor, problems: Problems): void {
  const { compression, source, verification } = resource;
  if (compression !== undefined && compression !== "" && compression !== "gzip")
    problems.error([...path, "compression"], "the only compression is gzip");
  if (verification?.hash !== undefined && source === undefined)
    problems.error([...path, "verification", "hash"], "a hash needs a source to verify");
  checkReference(resource, path, minor, problems);
  checkHeaders(resource, path, problems);
}

/** What spec 3.0 asked of references to configs and authorities. */
export function checkReference({ source, verification }: Resource, path: JsonPath, minor: Minor, problems: Problems) {
  if (source !== undefined && source !== "") problems.error([...path, "source"], sourceObjection(source, minor));
  if (verification?.hash !== undefined)
    problems.error([...path, "verification", "hash"], hashObjection(verification.hash, minor));
}

function checkHeaders({ httpHeaders, source }: Resource, path: JsonPath, problems: Problems): void {
  if (httpHeaders === undefined) return;
  const scheme = source === undefined || source === "" ? undefined : takeApart(source)?.scheme;
  const place = [...path, "httpHeaders"];
  if (scheme === undefined) problems.error(place, "headers need a source that is a URL");
  else if (scheme !== "http" && scheme !== "https") problems.error(place, "headers need an http or https source");
  for (const [index, { name, value }] of httpHeaders.entries()) {
    if (name === "") problems.error([...place, index, "name"], "a header needs a name");
    if (value === "") problems.error([...place, index, "value"], "a header's value is empty");
  }
}

/** Why Ignition would not fetch from there. */
function sourceObjection(source: string, minor: Minor): string | undefined {
  const url = takeApart(source);
  if (url === undefined) return "the source is no URL";
  const unknown = `the source's scheme is none that spec 3.${minor}.0 knows`;
  switch (url.scheme) {
    case "http":
    case "https":
    case "tftp":
      return undefined;
    case "gs":
      return minor >= 2 ? undefined : unknown;
    case "s3":
      return versionObjection(url.query);
    case "arn":
      return minor >= 4 ? (arnObjection(`arn:${url.opaque}`) ?? versionObjection(url.query)) : unknown;
    case "data": {
      const reading = readDataUrl(source);
      return reading.ok ? undefined : `the data URL cannot be read: ${reading.why}`;
    }
    default:
      return unknown;
  }
}

const versionObjection = (query: string): string | undefined =>
  queryValue(query, "versionId") === "" ? "the object's versionId is empty" : undefined;

function arnObjection(arn: string): string | undefined {
  const sections = arn.split(":");
  const [, , service] = sections;
  if (sections.length < 6 || service !== "s3") return "the ARN is not that of an S3 object";
  const resource = sections.slice(5).join(":");
  const parts = arn.split("/").length;
  const needed = resource.startsWith("accesspoint/") ? 3 : 2;
  return parts < needed ? "the ARN names no object" : undefined;
}

function hashObjection(hash: string, minor: Minor): string | undefined {
  const dash = hash.indexOf("-");
  if (dash === -1) return "the hash is not written as function-digest";
  const digits = digestLengths.get(hash.slice(0, dash));
  if (digits === undefined || (minor === 0 && hash.startsWith("sha256-"))) return "the hash function is not known";
  const length = Buffer.byteLength(hash) - dash - 1;
  return length === digits ? undefined : `the digest has ${length} digits where ${digits} are needed`;
}

export function checkProxy(proxy: ProxySettings, path: JsonPath, problems: Problems): void {
  for (const member of ["httpProxy", "httpsProxy"] as const) {
    const text = proxy[member];
    if (text === undefined) continue;
    const scheme = takeApart(text)?.scheme;
    const place = [...path, member];
    if (scheme !== "http" && scheme !== "https") problems.error(place, "a proxy must be an http or https URL");
    else if (scheme === "http" && member === "httpsProxy")
      problems.warning(place, "https resources are asked for through a proxy in plain text");
  }
}
