/** From a document to a config: defaults filled in, every fault named. */

import { readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { parse } from "yaml";
import { DrawbridgeError, messageOf } from "../../../base/errors/error.js";
import { DEFAULT_IMAGE_KIND, hostedImageKinds } from "../model/images.js";
import { aggregatedApisOf } from "./aggregated-apis.js";
import {
  azureClouds,
  type HostedConfig,
  type HostedPlatform,
  type ProxyUrls,
  type Publishing,
  publishingTypes,
} from "./config.js";
import {
  ConfigFaults,
  DocumentFields,
  hasPassword,
  isDnsName,
  isIpAddress,
  isLabel,
  isPrefix,
  isProxyUrl,
  isPullSpec,
  namespaceFor,
} from "./fields.js";

const tlsVersions = ["VersionTLS12", "VersionTLS13"] as const;

/** `source` begins the sentence that says what is wrong; files are named from `directory`. */
export function checkConfig(document: unknown, source: string, directory = "."): HostedConfig {
  const faults = new ConfigFaults();
  const fields = new DocumentFields(document, "", faults);
  const config = read(fields, directory, faults);
  fields.refuseOthers();
  faults.throwIfAny(source);
  return config;
}

function read(fields: DocumentFields, directory: string, faults: ConfigFaults): HostedConfig {
  const name = checked(fields.text("name"), "name", isDnsName, "give the cluster's name as in DNS", faults);
  const owner = fields.text("namespace") ?? "clusters";
  const controlPlaneNamespace = fields.text("controlPlaneNamespace") ?? namespaceFor(owner, name);
  if (name !== "" && !isLabel(controlPlaneNamespace))
    faults.add(
      `the control plane's namespace "${controlPlaneNamespace}" is no namespace's name`,
      "give controlPlaneNamespace with at most 63 lower-case letters, digits and dashes",
    );
  const image = imageOf(fields, faults);
  const signers = fields.choice("signers", ["separate", "shared"]) ?? "separate";
  return {
    name,
    controlPlaneNamespace,
    publishing: publishingOf(fields, faults),
    replicas: fields.whole("replicas", 1, 9) ?? 3,
    image,
    aggregatedApis: aggregatedApisOf(fields, { kind: image.kind, directory }, faults),
    signers,
    ...proxiesOf(fields, faults),
    platform: platformOf(fields, faults),
    networks: networksOf(fields, faults),
    certificates: certificatesOf(fields, faults),
    tls: tlsOf(fields),
    connectionChecker: checkerOf(fields, image.kind, signers, faults),
    agentHostNetwork: fields.yesNo("agentHostNetwork") ?? true,
    managementChoosesUsers: fields.yesNo("managementChoosesUsers") ?? image.kind === "payload",
    priorityClass: fields.text("priorityClass") ?? (signers === "shared" ? "hypershift-control-plane" : undefined),
    apiServerPort: fields.whole("apiServerPort", 1, 65_535) ?? 6443,
  };
}

function publishingOf(fields: DocumentFields, faults: ConfigFaults): Publishing {
  const group = fields.group("publishing");
  const type = group?.choice("type", publishingTypes);
  if (group === undefined || type === undefined) {
    faults.add("publishing.type is missing", `say how agents reach the servers: ${publishingTypes.join(", ")}`);
  }
  const [hostname, address] = [group?.text("hostname"), group?.text("address")];
  if (hostname !== undefined && !isDnsName(hostname))
    faults.add(`publishing.hostname "${hostname}" is no DNS name`, "an IP address goes into publishing.address");
  if (address !== undefined && !isIpAddress(address) && !isDnsName(address))
    faults.add(`publishing.address "${address}" is neither an IP address nor a DNS name`, "give what agents dial");
  if (hostname !== undefined && address !== undefined)
    faults.add("publishing has both hostname and address", "keep the one that agents dial");
  const port = group?.whole("port", 1, 65_535);
  const router = group?.choice("router", ["management", "cluster"]) ?? "management";
  if (type === "Route" && address !== undefined && isIpAddress(address))
    faults.add("a Route cannot be reached by IP address", "routers tell clusters apart by name: give hostname");
  if (type === "NodePort" && (hostname ?? address) === undefined)
    faults.add("publishing.address is missing", "give an address of the management cluster's nodes");
  if (type === "NodePort" && port === undefined)
    faults.add("publishing.port is missing", "choose a free port in the management cluster's NodePort range");
  if (type === "LoadBalancer" && port !== undefined && port !== 8091)
    faults.add("publishing.port cannot be chosen for a LoadBalancer", "leave it out: agents dial 8091");
  group?.refuseOthers();
  const usual = type === "Route" ? 443 : 8091;
  return { type: type ?? "Route", host: hostname ?? address, port: port ?? usual, router };
}

function imageOf(fields: DocumentFields, faults: ConfigFaults): HostedConfig["image"] {
  const group = fields.group("image");
  const kind = group?.choice("kind", hostedImageKinds) ?? DEFAULT_IMAGE_KIND;
  const [server, agent, sidecar] = ["server", "agent", "sidecar"].map((name) => {
    const spec = group?.text(name);
    if (spec !== undefined && !isPullSpec(spec))
      faults.add(`image.${name} "${spec}" is no pull spec`, "give registry/name:tag or registry/name@digest");
    return spec;
  });
  group?.refuseOthers();
  if (kind === "payload") {
    for (const [name, spec] of Object.entries({ server, agent, sidecar })) {
      if (spec === undefined)
        faults.add(
          `image.${name} is missing`,
          `a payload's images have no fixed name: oc adm release info --image-for=${name === "sidecar" ? "hypershift" : "apiserver-network-proxy"}`,
        );
    }
  }
  return { kind, server, agent, sidecar };
}

/** HyperShift has a checker of its own. */
function checkerOf(fields: DocumentFields, kind: string, signers: string, faults: ConfigFaults): boolean {
  const wanted = fields.yesNo("connectionChecker");
  if (wanted && kind !== "drawbridge")
    faults.add("connectionChecker needs drawbridge's own image", "leave it out, or set image.kind to drawbridge");
  return wanted ?? (kind === "drawbridge" && signers === "separate");
}

function platformOf(fields: DocumentFields, faults: ConfigFaults): HostedPlatform | undefined {
  const group = fields.group("platform");
  if (group === undefined) return undefined;
  const type = group.choice("type", ["AWS", "Azure"]);
  if (type === undefined)
    faults.add("platform.type is missing", "say AWS or Azure; for anything else leave platform out");
  const region =
    type === "AWS" ? checked(group.text("region"), "platform.region", isLabel, "as in eu-west-1", faults) : "";
  const cloud = type === "Azure" ? (group.choice("cloud", azureClouds) ?? "AzurePublicCloud") : "AzurePublicCloud";
  group.refuseOthers();
  return type === "AWS" ? { type, region } : { type: "Azure", cloud };
}

function networksOf(fields: DocumentFields, faults: ConfigFaults): HostedConfig["networks"] {
  const group = fields.group("networks");
  const prefixes = (name: string): string[] => {
    const entries = group?.texts(name) ?? [];
    for (const entry of entries) {
      if (!isPrefix(entry)) faults.add(`networks.${name} has "${entry}"`, "give prefixes such as 10.132.0.0/14");
    }
    return entries;
  };
  const networks = { machine: prefixes("machine"), service: prefixes("service"), cluster: prefixes("cluster") };
  group?.refuseOthers();
  return networks;
}

function certificatesOf(fields: DocumentFields, faults: ConfigFaults): HostedConfig["certificates"] {
  const group = fields.group("certificates");
  const validDays = group?.whole("validDays", 1, 3650) ?? 365;
  const renewDays = group?.whole("renewDays", 1, 3650) ?? Math.min(30, Math.ceil(validDays / 3));
  if (renewDays >= validDays)
    faults.add(
      `certificates are renewed ${renewDays} days before an end that is ${validDays} days away`,
      "make renewDays smaller than validDays",
    );
  group?.refuseOthers();
  return { validDays, renewDays };
}

function tlsOf(fields: DocumentFields): HostedConfig["tls"] {
  const group = fields.group("tls");
  const tls = {
    minVersion: group?.choice("minVersion", tlsVersions) ?? "VersionTLS12",
    cipherSuites: group?.texts("cipherSuites") ?? [],
  };
  group?.refuseOthers();
  return tls;
}

function checked(
  value: string | undefined,
  name: string,
  isGood: (text: string) => boolean,
  remedy: string,
  faults: ConfigFaults,
): string {
  if (value === undefined) faults.add(`${name} is missing`, remedy);
  else if (!isGood(value)) faults.add(`${name} "${value}" cannot be used`, remedy);
  return value ?? "";
}

// The proxies of the hosted and of the management cluster, and where their passwords may be written.

const ALLOWANCE = "allowProxyPasswordInArguments";

export function proxiesOf(
  fields: DocumentFields,
  faults: ConfigFaults,
): Pick<HostedConfig, "proxy" | "managementProxy"> {
  const mayShow = fields.yesNo(ALLOWANCE) ?? false;
  const [customer, management] = [fields.group("proxy"), fields.group("managementProxy")];
  const urls = customer && urlsOf(customer, mayShow, faults);
  const trustedCa = customer?.text("trustedCA");
  if (trustedCa !== undefined && !isDnsName(trustedCa))
    faults.add(`proxy.trustedCA "${trustedCa}" is no ConfigMap's name`, "name one of the control plane's namespace");
  const managementProxy = management && urlsOf(management, mayShow, faults);
  customer?.refuseOthers();
  management?.refuseOthers();
  return { proxy: urls && { ...urls, trustedCa }, managementProxy };
}

function urlsOf(group: DocumentFields, mayShow: boolean, faults: ConfigFaults): ProxyUrls {
  const [http = "", https = "", secret] = [group.text("http"), group.text("https"), group.text("secret")];
  for (const [name, url] of Object.entries({ http, https })) {
    // Its text may hold a password, so it is not repeated.
    if (url === "") continue;
    if (!isProxyUrl(url)) faults.add(`${group.path(name)} is no proxy's URL`, "write http://host:port");
    else if (hasPassword(url) && !mayShow)
      faults.add(
        `${group.path(name)} has a password, which everybody who sees pods would see`,
        `put the URLs into a Secret as httpProxy and httpsProxy and name it in ${group.path("secret")}, or say ${ALLOWANCE}: true`,
      );
  }
  if (secret !== undefined && !isDnsName(secret))
    faults.add(
      `${group.path("secret")} "${secret}" is no Secret's name`,
      "name one of the namespace that it is used in",
    );
  const isGiven = http !== "" || https !== "";
  if (isGiven && secret !== undefined)
    faults.add(`${group.where} has both URLs and a Secret with them`, "keep one of the two");
  if (!isGiven && secret === undefined)
    faults.add(`${group.where} has neither http nor https nor secret`, `give one, or leave ${group.where} out`);
  return { http, https, noProxy: group.texts("noProxy"), secret };
}

/** Fields given on the command line; they override the file's. */
export type Overrides = Readonly<Record<string, unknown>>;

/** Reads YAML or JSON. Without a file, the overrides are the whole description. */
export async function readHostedConfig(file: string, overrides: Overrides): Promise<HostedConfig> {
  const document = file === "" ? {} : await readDocument(file);
  const source = file === "" ? "The command line" : file;
  return checkConfig(merged(document, overrides), source, dirname(file));
}

async function readDocument(file: string): Promise<unknown> {
  try {
    return parse(await readFile(file, "utf8")) as unknown;
  } catch (reason) {
    // The parser quotes the line at fault, which may hold a proxy's password.
    const why = messageOf(reason).split("\n")[0];
    throw new DrawbridgeError("DB_HOSTED_CONFIG", `${file} cannot be read: ${why}`, { cause: reason });
  }
}

function merged(document: unknown, overrides: Overrides): unknown {
  if (Object.keys(overrides).length === 0 || typeof document !== "object" || document === null) {
    return Object.keys(overrides).length === 0 ? document : { ...overrides };
  }
  const result: Record<string, unknown> = { ...document };
  for (const [name, value] of Object.entries(overrides)) {
    const before = result[name];
    const isGroup = (part: unknown) => typeof part === "object" && part !== null && !Array.isArray(part);
    result[name] = isGroup(value) && isGroup(before) ? { ...(before as object), ...(value as object) } : value;
  }
  return result;
}
