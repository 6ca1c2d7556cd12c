/** The description of a hosted control plane, from which everything that is rendered follows. */
import { readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { parse } from "yaml";
import { isRecord } from "../../../base/at.js";
import { DrawbridgeError, messageOf } from "../../../base/errors/error.js";
import { DEFAULT_IMAGE_KIND, HOSTED_IMAGE_KINDS } from "../model/images.js";
import { PROFILE_NAMES, profileOf } from "../model/profiles.js";
import { aggregatedApisOf } from "./aggregated-apis.js";
import { DocumentFields, isDnsName, isIpAddress, isLabel, isPrefix, isProxyUrl, isPullSpec } from "./fields.js";

/** A description whose defaults are filled in. */
export type HostedConfig = Readonly<ReturnType<typeof configOf>>;

/** Throws DB_HOSTED_CONFIG with every fault. `source` begins the sentence; files are named from `directory`. */
export function checkConfig(document: unknown, source: string, directory = "."): HostedConfig {
  const fields = new DocumentFields(document);
  const config = configOf(fields, directory);
  fields.finish(source);
  return config;
}

function configOf(fields: DocumentFields, directory: string) {
  const name = fields.required("name", isDnsName, "give the cluster's name as in DNS");
  const owner = fields.text("namespace") ?? "clusters";
  // HyperShift's rule.
  const controlPlaneNamespace = fields.text("controlPlaneNamespace") ?? `${owner}-${name.replaceAll(".", "-")}`;
  if (name !== "" && !isLabel(controlPlaneNamespace))
    fields.fault(
      `the control plane's namespace "${controlPlaneNamespace}" is no namespace's name`,
      "give controlPlaneNamespace with at most 63 lower-case letters, digits and dashes",
    );
  const profile = fields.choice("profile", PROFILE_NAMES) ?? "hypershift";
  const { frontends, keeper, ports } = profileOf(profile);
  const image = imageOf(fields.group("image"));
  if (keeper !== undefined && [image.server, image.agent].some((spec) => spec?.includes("@")))
    fields.fault(`${keeper.project} takes images with a tag, not with a digest`, "give registry/name:tag");
  const signers = fields.choice("signers", ["separate", "shared"]) ?? "separate";
  const platform = platformOf(fields.group("platform"));
  const mayShowPassword = fields.yesNo(ALLOWANCE) ?? false;
  return {
    name,
    controlPlaneNamespace,
    /** Whose names, ports and wiring. */
    profile,
    /** How the kube-apiserver reaches a server. */
    frontend: fields.choice("frontend", frontends) ?? frontends[0],
    /** How agents in the hosted cluster reach the servers. */
    publishing: publishingOf(fields.group("publishing"), ports.agent, keeper !== undefined),
    /** The number of servers, which is that of kube-apiservers. */
    replicas: fields.whole("replicas", 1, 9) ?? 3,
    image,
    /** The one list behind identifiers, claim rules and the hosted cluster's objects. */
    aggregatedApis: aggregatedApisOf(fields, { kind: image.kind, directory }),
    /** `shared` is what a HyperShift has, to be put in its place. */
    signers,
    /** The proxy of the hosted cluster. */
    proxy: customerProxyOf(fields.group("proxy"), mayShowPassword),
    /** The proxy of the management cluster, by which sidecars reach cloud APIs past the tunnel. */
    managementProxy: proxyUrlsOf(fields.group("managementProxy"), mayShowPassword),
    platform,
    /** A ConfigMap of the control plane's namespace with `ca-bundle.crt`: authorities of what HTTPS proxies reach. */
    additionalTrustBundle: fields.text("additionalTrustBundle", [
      isDnsName,
      "is no ConfigMap's name",
      "name one of the control plane's namespace",
    ]),
    /** The host of etcd, which components reach without a proxy. */
    etcdHost: etcdHostOf(fields),
    /** Where catalogs of operators are served: in the control plane, or in the hosted cluster. */
    olmCatalogPlacement: fields.choice("olmCatalogPlacement", ["management", "guest"]) ?? "management",
    networks: networksOf(fields.group("networks")),
    certificates: certificatesOf(fields.group("certificates")),
    tls: tlsOf(fields.group("tls")),
    /** Whether pods of the hosted cluster record that they reach the kube-apiserver. */
    connectionChecker: checkerOf(fields, image.kind) ?? (image.kind === "drawbridge" && signers === "separate"),
    /** Whether agents in the hosted cluster use their nodes' network, which IBM Cloud's must not. */
    agentHostNetwork: fields.yesNo("agentHostNetwork") ?? platform?.type !== "IBMCloud",
    /** Whether the management cluster chooses users for pods itself (OpenShift), and refuses others. */
    managementChoosesUsers: fields.yesNo("managementChoosesUsers") ?? image.kind === "payload",
    /** Whether the server is a native sidecar of the kube-apiserver, where the management cluster has them. */
    nativeSidecar: fields.yesNo("nativeSidecar") ?? true,
    /** The priority class of the control-plane agents; undefined for none. */
    priorityClass: fields.text("priorityClass") ?? (signers === "shared" ? "hypershift-control-plane" : undefined),
    /** The port of the kube-apiserver itself, which a network policy must leave open; undefined: as its Deployment has it. */
    apiServerPort: fields.whole("apiServerPort", 1, 65_535),
  };
}

const PUBLISHING_TYPES = ["Route", "NodePort", "LoadBalancer"] as const;

export type Publishing = ReturnType<typeof publishingOf>;

function publishingOf(group: DocumentFields, agentPort: number, isKept: boolean) {
  const type = group.choice("type", PUBLISHING_TYPES);
  if (type === undefined && !isKept)
    group.fault("publishing.type is missing", `say how agents reach the servers: ${PUBLISHING_TYPES.join(", ")}`);
  const hostname = group.text("hostname", [isDnsName, "is no DNS name", "an IP address goes into publishing.address"]);
  const address = group.text("address", [
    (text) => isIpAddress(text) || isDnsName(text),
    "is neither an IP address nor a DNS name",
    "give what agents dial",
  ]);
  if (hostname !== undefined && address !== undefined)
    group.fault("publishing has both hostname and address", "keep the one that agents dial");
  const port = group.whole("port", 1, 65_535);
  if (type === "Route" && address !== undefined && isIpAddress(address))
    group.fault("a Route cannot be reached by IP address", "routers tell clusters apart by name: give hostname");
  if (type === "NodePort" && (hostname ?? address) === undefined)
    group.fault("publishing.address is missing", "give an address of the management cluster's nodes");
  if (type === "NodePort" && port === undefined)
    group.fault("publishing.port is missing", "choose a free port in the management cluster's NodePort range");
  if (type === "LoadBalancer" && port !== undefined && port !== agentPort)
    group.fault("publishing.port cannot be chosen for a LoadBalancer", `leave it out: agents dial ${agentPort}`);
  return {
    type: type ?? "Route",
    /** The DNS name or IP address that agents dial; undefined where the cluster assigns it. */
    host: hostname ?? address,
    /** The port that agents dial. */
    port: port ?? (type === "Route" ? 443 : agentPort),
    /** Who serves a Route: the management cluster's routers, or one inside the control plane's namespace. */
    router: group.choice("router", ["management", "cluster"]) ?? "management",
  };
}

function imageOf(group: DocumentFields) {
  const kind = group.choice("kind", HOSTED_IMAGE_KINDS) ?? DEFAULT_IMAGE_KIND;
  const image = (name: string, payload: string): string | undefined => {
    const remedy = "give registry/name:tag or registry/name@digest";
    const spec = group.text(name, [isPullSpec, "is no pull spec", remedy]);
    if (kind === "payload" && spec === undefined)
      group.fault(
        `image.${name} is missing`,
        `a payload's images have no fixed name: oc adm release info --image-for=${payload}`,
      );
    return spec;
  };
  const [server, agent] = [image("server", "apiserver-network-proxy"), image("agent", "apiserver-network-proxy")];
  return { kind, server, agent, sidecar: image("sidecar", "hypershift") };
}

/** HyperShift has a checker of its own. */
function checkerOf(fields: DocumentFields, kind: string): boolean | undefined {
  const wanted = fields.yesNo("connectionChecker");
  if (wanted && kind !== "drawbridge")
    fields.fault("connectionChecker needs drawbridge's own image", "leave it out, or set image.kind to drawbridge");
  return wanted;
}

const AZURE_CLOUDS = [
  ...(["AzurePublicCloud", "AzureUSGovernmentCloud", "AzureChinaCloud"] as const),
  ...(["AzureGermanCloud", "AzureStackCloud"] as const),
];

const IBM_PROVIDERS = ["Classic", "VPC", "UPI"] as const;

export type HostedPlatform = NonNullable<ReturnType<typeof platformOf>>;

/** For what only a cloud's machines have to reach; others need nothing. */
function platformOf(group: DocumentFields) {
  if (!group.isGiven) return undefined;
  const type = group.choice("type", ["AWS", "Azure", "IBMCloud"]);
  if (type === undefined)
    group.fault("platform.type is missing", "say AWS, Azure or IBMCloud; for anything else leave platform out");
  if (type === "IBMCloud") return { type, providerType: group.choice("providerType", IBM_PROVIDERS) };
  if (type === "AWS") return { type, region: group.required("region", isLabel, "as in eu-west-1") };
  const cloud = type === "Azure" ? group.choice("cloud", AZURE_CLOUDS) : undefined;
  return { type: "Azure" as const, cloud: cloud ?? "AzurePublicCloud" };
}

const MANAGED_ETCD = "etcd-client";

function etcdHostOf(fields: DocumentFields): string {
  const remedy = "give its URL as in https://etcd.example:2379, or leave it out";
  const endpoint = fields.text("etcdEndpoint", [URL.canParse, "is no URL", remedy]);
  return endpoint !== undefined && URL.canParse(endpoint) ? new URL(endpoint).hostname : MANAGED_ETCD;
}

function networksOf(group: DocumentFields) {
  const prefixes = (name: string): string[] => {
    const entries = group.texts(name);
    for (const entry of entries) {
      if (!isPrefix(entry)) group.fault(`networks.${name} has "${entry}"`, "give prefixes such as 10.132.0.0/14");
    }
    return entries;
  };
  return { machine: prefixes("machine"), service: prefixes("service"), cluster: prefixes("cluster") };
}

function certificatesOf(group: DocumentFields) {
  const validDays = group.whole("validDays", 1, 3650) ?? 365;
  const renewDays = group.whole("renewDays", 1, 3650) ?? Math.min(30, Math.ceil(validDays / 3));
  if (renewDays >= validDays)
    group.fault(
      `certificates are renewed ${renewDays} days before an end that is ${validDays} days away`,
      "make renewDays smaller than validDays",
    );
  return { validDays, renewDays };
}

const tlsOf = (group: DocumentFields) => ({
  minVersion: group.choice("minVersion", ["VersionTLS12", "VersionTLS13"]) ?? "VersionTLS12",
  cipherSuites: group.texts("cipherSuites"),
});

/** The field that lets passwords of proxies be written into pods. */
const ALLOWANCE = "allowProxyPasswordInArguments";

function customerProxyOf(group: DocumentFields, mayShowPassword: boolean) {
  const urls = proxyUrlsOf(group, mayShowPassword);
  const remedy = "name one of the control plane's namespace";
  /** A ConfigMap of the control plane's namespace with `ca-bundle.crt`. */
  const trustedCa = group.text("trustedCA", [isDnsName, "is no ConfigMap's name", remedy]);
  return urls && { ...urls, trustedCa };
}

export type ProxyUrls = NonNullable<ReturnType<typeof proxyUrlsOf>>;

function proxyUrlsOf(group: DocumentFields, mayShowPassword: boolean) {
  const [http = "", https = ""] = [group.text("http"), group.text("https")];
  for (const [name, url] of Object.entries({ http, https })) {
    // Its text may hold a password, so it is not repeated.
    if (url === "") continue;
    if (!isProxyUrl(url)) group.fault(`${group.path(name)} is no proxy's URL`, "write http://host:port");
    else if (new URL(url).password !== "" && !mayShowPassword)
      group.fault(
        `${group.path(name)} has a password, which everybody who sees pods would see`,
        `put the URLs into a Secret as httpProxy and httpsProxy and name it in ${group.path("secret")}, or say ${ALLOWANCE}: true`,
      );
  }
  /** A Secret with both URLs, as httpProxy and httpsProxy, in their place: they are in no pod's specification then. */
  const secret = group.text("secret", [isDnsName, "is no Secret's name", "name one of the namespace that uses it"]);
  const isUrlGiven = http !== "" || https !== "";
  if (isUrlGiven && secret !== undefined)
    group.fault(`${group.where} has both URLs and a Secret with them`, "keep one of the two");
  if (group.isGiven && !isUrlGiven && secret === undefined)
    group.fault(`${group.where} has neither http nor https nor secret`, `give one, or leave ${group.where} out`);
  const noProxy = group.texts("noProxy");
  return group.isGiven ? { http, https, noProxy, secret } : undefined;
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

/** Mappings are joined, anything else is replaced. */
function merged(document: unknown, overrides: Overrides): unknown {
  if (Object.keys(overrides).length === 0) return document;
  const result: Record<string, unknown> = isRecord(document) ? { ...document } : {};
  for (const [name, value] of Object.entries(overrides)) {
    const before = result[name];
    result[name] = isRecord(value) && isRecord(before) ? { ...before, ...value } : value;
  }
  return result;
}
