/** From a document to a config: defaults filled in, every fault named. */
import { DEFAULT_IMAGE_KIND, imageKinds } from "../model/images.js";
import { aggregatedApisOf } from "./aggregated-apis.js";
import { azureClouds, type HostedConfig, type Platform, type Publishing, publishingTypes } from "./config.js";
import { Faults } from "./faults.js";
import { Fields } from "./fields.js";
import { isAddress, isDnsName, isLabel, isPrefix, isPullSpec, namespaceFor } from "./names.js";
import { proxiesOf } from "./proxies.js";

const tlsVersions = ["VersionTLS12", "VersionTLS13"] as const;

/** `source` begins the sentence that says what is wrong; files are named from `directory`. */
export function checkConfig(document: unknown, source: string, directory = "."): HostedConfig {
  const faults = new Faults();
  const fields = new Fields(document, "", faults);
  const config = read(fields, directory, faults);
  fields.refuseOthers();
  faults.throwIfAny(source);
  return config;
}

function read(fields: Fields, directory: string, faults: Faults): HostedConfig {
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

function publishingOf(fields: Fields, faults: Faults): Publishing {
  const group = fields.group("publishing");
  const type = group?.choice("type", publishingTypes);
  if (group === undefined || type === undefined) {
    faults.add("publishing.type is missing", `say how agents reach the servers: ${publishingTypes.join(", ")}`);
  }
  const [hostname, address] = [group?.text("hostname"), group?.text("address")];
  if (hostname !== undefined && !isDnsName(hostname))
    faults.add(`publishing.hostname "${hostname}" is no DNS name`, "an IP address goes into publishing.address");
  if (address !== undefined && !isAddress(address) && !isDnsName(address))
    faults.add(`publishing.address "${address}" is neither an IP address nor a DNS name`, "give what agents dial");
  if (hostname !== undefined && address !== undefined)
    faults.add("publishing has both hostname and address", "keep the one that agents dial");
  const port = group?.whole("port", 1, 65_535);
  const router = group?.choice("router", ["management", "cluster"]) ?? "management";
  if (type === "Route" && address !== undefined && isAddress(address))
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

function imageOf(fields: Fields, faults: Faults): HostedConfig["image"] {
  const group = fields.group("image");
  const kind = group?.choice("kind", imageKinds) ?? DEFAULT_IMAGE_KIND;
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

/** A HyperShift has its own. */
function checkerOf(fields: Fields, kind: string, signers: string, faults: Faults): boolean {
  const wanted = fields.yesNo("connectionChecker");
  if (wanted && kind !== "drawbridge")
    faults.add("connectionChecker needs drawbridge's own image", "leave it out, or set image.kind to drawbridge");
  return wanted ?? (kind === "drawbridge" && signers === "separate");
}

function platformOf(fields: Fields, faults: Faults): Platform | undefined {
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

function networksOf(fields: Fields, faults: Faults): HostedConfig["networks"] {
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

function certificatesOf(fields: Fields, faults: Faults): HostedConfig["certificates"] {
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

function tlsOf(fields: Fields): HostedConfig["tls"] {
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
  faults: Faults,
): string {
  if (value === undefined) faults.add(`${name} is missing`, remedy);
  else if (!isGood(value)) faults.add(`${name} "${value}" cannot be used`, remedy);
  return value ?? "";
}
