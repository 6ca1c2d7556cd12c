/** Everything that is fetched: sources, headers, hashes, proxies. */

import { isIPv6 } from "node:net";
import { readDataUrl } from "../../../base/data-url.js";
import {
  contents,
  type Decoded,
  header,
  type Minor,
  type ProxySettings,
  proxy,
  type Resource,
  reference,
  references,
  trust,
} from "../config.js";
import type { ConfigPlace } from "../problems.js";
import { digestLengths } from "../resource.js";
import { rule } from "./rule.js";

/** File contents, keys and, from 3.1 on, everything else that is fetched. */
function checkResource(resource: Resource, place: ConfigPlace): void {
  const { compression, httpHeaders, source, verification } = resource;
  if (compression !== undefined && compression !== "" && compression !== "gzip")
    place.error("the only compression is gzip", "compression");
  if (verification?.hash !== undefined && source === undefined)
    place.error("a hash needs a source to verify", "verification", "hash");
  checkReference(resource, place);
  if (httpHeaders === undefined) return;
  const scheme = source === undefined || source === "" ? undefined : takeApart(source)?.scheme;
  if (scheme === undefined) place.error("headers need a source that is a URL", "httpHeaders");
  else if (scheme !== "http" && scheme !== "https") place.error("headers need an http or https source", "httpHeaders");
}

/** What spec 3.0 asked of references to configs and authorities. */
function checkReference({ source, verification }: Resource, place: ConfigPlace): void {
  if (source !== undefined && source !== "") place.error(sourceObjection(source, place.minor), "source");
  if (verification?.hash !== undefined)
    place.error(hashObjection(verification.hash, place.minor), "verification", "hash");
}

function checkHeader({ name, value }: Decoded<typeof header>, place: ConfigPlace): void {
  if (name === "") place.error("a header needs a name", "name");
  if (value === "") place.error("a header's value is empty", "value");
}

function requireSources(name: string, resources: readonly Resource[] | undefined, place: ConfigPlace): void {
  for (const [{ source }, one] of place.entries(name, resources)) {
    if (!source) one.error("a source is needed", ...(place.minor === 0 ? ["source"] : []));
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

function checkProxy(settings: ProxySettings, place: ConfigPlace): void {
  for (const member of ["httpProxy", "httpsProxy"] as const) {
    const text = settings[member];
    if (text === undefined) continue;
    const scheme = takeApart(text)?.scheme;
    if (scheme !== "http" && scheme !== "https") place.error("a proxy must be an http or https URL", member);
    else if (scheme === "http" && member === "httpsProxy")
      place.warning("https resources are asked for through a proxy in plain text", member);
  }
}

/** A URL as Go's net/url splits it, which decides whether Ignition accepts a source. */
interface TakenApart {
  /** Lower case, empty for relative references. */
  readonly scheme: string;
  /** What follows the scheme when it does not begin with a slash. */
  readonly opaque: string;
  readonly query: string;
}

/** Whatever is not printable ASCII nor behind ASCII. */
const CONTROL = /[^ -~\u0080-\uffff]/;
/** Known ones are much shorter. */
const SCHEME = /^[A-Za-z][A-Za-z0-9+.-]{0,99}:/;

/** Undefined for what is no URL. Splits by hand: sources can have megabytes, on which patterns run out of stack. */
export function takeApart(url: string): TakenApart | undefined {
  const [main, fragment] = split(url, "#");
  if (CONTROL.test(main) || !wellEscaped(fragment) || main.startsWith(":")) return undefined;
  if (main === "*") return { scheme: "", opaque: "", query: "" };
  const [mark = ""] = SCHEME.exec(main) ?? [];
  const scheme = mark.slice(0, -1).toLowerCase();
  const [rest, query] = split(main.slice(mark.length), "?");
  if (!rest.startsWith("/")) {
    if (scheme !== "") return { scheme, opaque: rest, query };
    if (split(rest, "/")[0].includes(":")) return undefined;
  }
  const hasAuthority = rest.startsWith("//") && (scheme !== "" || !rest.startsWith("///"));
  const slash = hasAuthority ? rest.indexOf("/", 2) : 0;
  const path = slash === -1 ? "" : rest.slice(slash);
  if (hasAuthority && !isAuthority(rest.slice(2, slash === -1 ? undefined : slash), scheme)) return undefined;
  return wellEscaped(path) ? { scheme, opaque: "", query } : undefined;
}

function split(text: string, mark: string): [before: string, behind: string] {
  const at = text.indexOf(mark);
  return at === -1 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

/** The first value of a query's parameter; undefined when it is not there in a readable form. */
function queryValue(query: string, name: string): string | undefined {
  for (const pair of query.split("&")) {
    const [key = "", ...value] = pair.split("=");
    if (pair === "" || pair.includes(";") || !wellEscaped(pair)) continue;
    if (unescaped(key) === name) return value.join("=");
  }
  return undefined;
}

const unescaped = (text: string): string =>
  text.replaceAll("+", " ").replace(/%([0-9A-Fa-f]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));

const wellEscaped = (text: string): boolean => !/%(?![0-9A-Fa-f]{2})/.test(text);

function isAuthority(authority: string, scheme: string): boolean {
  const at = authority.lastIndexOf("@");
  if (!isHostAndPort(authority.slice(at + 1), scheme)) return false;
  const user = at === -1 ? "" : authority.slice(0, at);
  return !/[^A-Za-z0-9\-._:~!$&'()*+,;=%@]/.test(user) && wellEscaped(user);
}

function isHostAndPort(host: string, scheme: string): boolean {
  const bracket = host.lastIndexOf("[");
  if (bracket > 0) return false;
  if (bracket === 0) {
    const end = host.lastIndexOf("]");
    return isPort(host.slice(end + 1)) && isIPv6(host.slice(1, Math.max(1, end)).replace("%25", "%"));
  }
  // Only web addresses are held to one colon; lists of hosts with ports are known elsewhere.
  const colon = /^https?$/.test(scheme) ? host.indexOf(":") : host.lastIndexOf(":");
  return (colon === -1 || isPort(host.slice(colon))) && isHost(host);
}

const isPort = (text: string): boolean => text === "" || (text.startsWith(":") && !/[^0-9]/.test(text.slice(1)));

/** Percent escapes are for bytes outside ASCII only, or for the percent sign. */
const isHost = (host: string): boolean =>
  !/[^A-Za-z0-9\-._~!$&'()*+,;=:[\]<>"%\u0080-\uffff]/.test(host) && !/%(?!25|[89A-Fa-f][0-9A-Fa-f])/.test(host);

export const resourceRules = [
  rule(contents, checkResource),
  rule(reference, (resource, place) => (place.minor === 0 ? checkReference : checkResource)(resource, place)),
  rule(header, checkHeader),
  rule(references, ({ merge }, place) => place.minor > 0 && requireSources("merge", merge, place)),
  rule(trust, ({ certificateAuthorities }, place) =>
    requireSources("certificateAuthorities", certificateAuthorities, place),
  ),
  rule(proxy, checkProxy),
];
