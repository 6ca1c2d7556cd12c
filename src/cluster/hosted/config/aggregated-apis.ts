/** What the control plane serves itself: bare addresses, and APIs that are registered in the hosted cluster. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { messageOf } from "../../../base/errors/error.js";
import { certificatesIn } from "../../../tunnel/pki/pem.js";
import { presets } from "../model/components.js";
import type { Registration, ServedApi } from "./config.js";
import { type ConfigFaults, type DocumentFields, isDnsName, isIpAddress, isLabel, isPrefix } from "./fields.js";

interface Surroundings {
  /** Of the server's image. */
  readonly kind: string;
  /** Files are named from here. */
  readonly directory: string;
}

export function aggregatedApisOf(
  fields: DocumentFields,
  { kind, directory }: Surroundings,
  faults: ConfigFaults,
): ServedApi[] {
  const apis = fields.items("aggregatedApis").map((item) => {
    if (typeof item !== "string") return registered(item, directory, faults);
    checkPlain(item, kind, faults);
    return { address: item, registration: undefined };
  });
  const registrations = apis.flatMap(({ registration }) => registration ?? []);
  refuseTwice(
    registrations.map(({ name }) => name),
    "two APIs are called",
    faults,
  );
  const served = registrations.flatMap((each) => each.served.map(({ group, version }) => `${version}.${group}`));
  refuseTwice(served, "two APIs serve", faults);
  return apis;
}

function refuseTwice(words: readonly string[], what: string, faults: ConfigFaults): void {
  for (const word of new Set(words.filter((each, at) => words.indexOf(each) !== at)))
    faults.add(`${what} ${word} in aggregatedApis`, "keep one of them");
}

function checkPlain(entry: string, kind: string, faults: ConfigFaults): void {
  if (isIpAddress(entry) || isDnsName(entry)) return;
  if (!isPrefix(entry))
    faults.add(`aggregatedApis has "${entry}"`, "give IP addresses, names or prefixes that the control plane serves");
  else if (kind !== "drawbridge")
    faults.add(
      `aggregatedApis has the prefix "${entry}"`,
      "only drawbridge's own server chooses by prefix: list the addresses, or use its image",
    );
}

function registered(entry: DocumentFields, directory: string, faults: ConfigFaults): ServedApi {
  const name = entry.text("name") ?? "";
  if (!isLabel(name) || !/^[a-z]/.test(name))
    faults.add(`${entry.path("name")} "${name}" is no Service's name`, "as in packageserver");
  if (name === "kubernetes")
    faults.add(`${entry.path("name")} is the kube-apiserver's own Service`, "choose another name");
  const address = entry.text("address") ?? "";
  if (!isIpAddress(address))
    faults.add(
      `${entry.path("address")} "${address}" is no IP address`,
      "give the ClusterIP of its Service in the management cluster",
    );
  const preset = Object.hasOwn(presets, name) ? presets[name] : undefined;
  const registration = {
    name,
    served: servedOf(entry, preset?.apiServices ?? [], faults),
    groupPriorityMinimum: entry.whole("groupPriorityMinimum", 1, 20_000) ?? preset?.groupPriorityMinimum ?? 1000,
    versionPriority: entry.whole("versionPriority", 1, 1000) ?? 15,
    caBundle: caOf(entry, directory, faults),
  };
  entry.refuseOthers();
  return { address, registration };
}

function servedOf(entry: DocumentFields, usual: readonly string[], faults: ConfigFaults): Registration["served"] {
  const given = entry.texts("apiServices");
  const names = given.length === 0 ? usual : given;
  if (names.length === 0)
    faults.add(
      `${entry.path("apiServices")} is missing`,
      `say what it serves, as in [v1.apps.example.com]; only ${Object.keys(presets).join(", ")} are known by name`,
    );
  return names.map((name) => {
    const [version = "", ...labels] = name.split(".");
    // Groups without a dot are the kube-apiserver's own.
    if (!isLabel(version) || labels.length < 2 || !isDnsName(labels.join(".")))
      faults.add(`${entry.path("apiServices")} has "${name}"`, "write version.group, as in v1.apps.example.com");
    return { group: labels.join("."), version };
  });
}

/** Only the certificates of the file are passed on, not the keys or texts between them. */
function caOf(entry: DocumentFields, directory: string, faults: ConfigFaults): string {
  const [text, file] = [entry.text("caBundle"), entry.text("caFile")];
  if ((text === undefined) === (file === undefined)) {
    faults.add(
      `${entry.where} needs one of caBundle and caFile`,
      "give the authority that signed the API's certificate, as PEM or in a file",
    );
    return "";
  }
  try {
    const found = certificatesIn(text ?? readFileSync(resolve(directory, file!), "utf8"));
    if (found.length === 0) throw new Error("there is no certificate in it");
    return found.map(({ pem }) => pem).join("");
  } catch (reason) {
    const path = entry.path(text === undefined ? "caFile" : "caBundle");
    faults.add(`${path} cannot be used: ${messageOf(reason)}`, "give certificates as PEM");
    return "";
  }
}
