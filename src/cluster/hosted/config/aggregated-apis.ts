/** What the control plane serves itself: bare addresses, and APIs that are registered in the hosted cluster. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { messageOf } from "../../../base/errors/error.js";
import { certificatesIn } from "../../../tunnel/pki/pem.js";
import { PRESETS } from "../model/components.js";
import { type DocumentFields, isDnsName, isIpAddress, isLabel, isPrefix } from "./fields.js";

/** Something that is served inside the control plane. */
export interface ServedApi {
  /** An IP address, a name or a prefix. */
  readonly address: string;
  /** Undefined where another program registers the API. */
  readonly registration: ReturnType<typeof registrationOf> | undefined;
}

/** `kind` is that of the server's image; files are named from `directory`. */
export function aggregatedApisOf(
  fields: DocumentFields,
  { kind, directory }: { readonly kind: string; readonly directory: string },
): ServedApi[] {
  const apis = fields.items("aggregatedApis").map((item): ServedApi => {
    if (typeof item === "string") {
      checkPlain(fields, item, kind);
      return { address: item, registration: undefined };
    }
    const address = item.text("address") ?? "";
    if (!isIpAddress(address))
      item.fault(
        `${item.path("address")} "${address}" is no IP address`,
        "give the ClusterIP of its Service in the management cluster",
      );
    return { address, registration: registrationOf(item, directory) };
  });
  const registrations = apis.flatMap(({ registration }) => registration ?? []);
  const names = registrations.map(({ name }) => name);
  const served = registrations.flatMap((each) => each.served.map(({ group, version }) => `${version}.${group}`));
  refuseTwice(fields, names, "two APIs are called");
  refuseTwice(fields, served, "two APIs serve");
  return apis;
}

function refuseTwice(fields: DocumentFields, words: readonly string[], what: string): void {
  for (const word of new Set(words.filter((each, at) => words.indexOf(each) !== at)))
    fields.fault(`${what} ${word} in aggregatedApis`, "keep one of them");
}

function checkPlain(fields: DocumentFields, entry: string, kind: string): void {
  if (isIpAddress(entry) || isDnsName(entry)) return;
  if (!isPrefix(entry))
    fields.fault(`aggregatedApis has "${entry}"`, "give IP addresses, names or prefixes that the control plane serves");
  else if (kind !== "drawbridge")
    fields.fault(
      `aggregatedApis has the prefix "${entry}"`,
      "only drawbridge's own server chooses by prefix: list the addresses, or use its image",
    );
}

/** How the hosted cluster finds an API: a Service without pods, and APIServices that lead to it. */
function registrationOf(entry: DocumentFields, directory: string) {
  const name = entry.text("name") ?? "";
  if (!isLabel(name) || !/^[a-z]/.test(name))
    entry.fault(`${entry.path("name")} "${name}" is no Service's name`, "as in packageserver");
  if (name === "kubernetes")
    entry.fault(`${entry.path("name")} is the kube-apiserver's own Service`, "choose another name");
  const preset = Object.hasOwn(PRESETS, name) ? PRESETS[name] : undefined;
  return {
    /** The name of the Service. */
    name,
    served: servedOf(entry, preset?.apiServices ?? []),
    groupPriorityMinimum: entry.whole("groupPriorityMinimum", 1, 20_000) ?? preset?.groupPriorityMinimum ?? 1000,
    versionPriority: entry.whole("versionPriority", 1, 1000) ?? 15,
    /** PEM of who signed the API's own certificate. */
    caBundle: caOf(entry, directory),
  };
}

function servedOf(entry: DocumentFields, usual: readonly string[]) {
  const given = entry.texts("apiServices");
  const names = given.length === 0 ? usual : given;
  if (names.length === 0)
    entry.fault(
      `${entry.path("apiServices")} is missing`,
      `say what it serves, as in [v1.apps.example.com]; only ${Object.keys(PRESETS).join(", ")} are known by name`,
    );
  return names.map((name) => {
    const [version = "", ...labels] = name.split(".");
    // Groups without a dot are the kube-apiserver's own.
    if (!isLabel(version) || labels.length < 2 || !isDnsName(labels.join(".")))
      entry.fault(`${entry.path("apiServices")} has "${name}"`, "write version.group, as in v1.apps.example.com");
    return { group: labels.join("."), version };
  });
}

/** Only the certificates of the file are passed on, not the keys or texts between them. */
function caOf(entry: DocumentFields, directory: string): string {
  const [text, file] = [entry.text("caBundle"), entry.text("caFile")];
  if ((text === undefined) === (file === undefined)) {
    entry.fault(
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
    entry.fault(`${path} cannot be used: ${messageOf(reason)}`, "give certificates as PEM");
    return "";
  }
}
