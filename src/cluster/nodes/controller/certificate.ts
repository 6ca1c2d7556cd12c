/**
 * Keeps the Ignition server's certificate in a Secret: issued for the published addresses, issued again when they change or
 * its end comes near. Its authority is in a Secret of its own, from which user data takes it.
 */

import { isIP } from "node:net";
import { DrawbridgeError } from "../../../base/errors/error.js";
import type { PemPair } from "../../../tunnel/pki/issue.js";
import type { ProfileSet } from "../../../tunnel/pki/profiles.js";
import { kubeManifest } from "../../kube/builders.js";
import { typed } from "../../kube/paths.js";
import {
  BOOTSTRAP_SECRET,
  type ConfigMap,
  encoded,
  IGNITION_CA_SECRET,
  nameOf,
  type ObjectWrite,
  pathOf,
  SERVING_CERTIFICATE_SECRET,
  type Secret,
  secretText,
  updateOf,
  withData,
} from "../objects.js";
import { isClusterObject, type View } from "../pool/input.js";
import type { Writer } from "./controller.js";
import { OWNER_LABEL, OWNER_NAME } from "./hypershift.js";

export interface KeepCertificateOptions {
  readonly view: View;
  readonly namespace: string;
  readonly writer: Writer;
  readonly now: () => number;
  /** Called with what was issued, and why. */
  readonly onIssued?: ((sentence: string) => void) | undefined;
}

/** The versions of everything that what is issued depends on: with the same ones nothing has to be issued before its end. */
export function issuedInputs({ configMaps, secrets }: View): string {
  const own = [...secrets.values()].filter(({ metadata }) =>
    [IGNITION_CA_SECRET, SERVING_CERTIFICATE_SECRET, BOOTSTRAP_SECRET].includes(metadata?.name ?? ""),
  );
  const objects = [...[...configMaps.values()].filter(isClusterObject), ...own];
  return objects.map(({ metadata }) => `${metadata?.name} ${metadata?.resourceVersion}`).join();
}

/** One pass over the certificate. */
export async function keepCertificate(options: KeepCertificateOptions): Promise<void> {
  const { namespace, now, onIssued, view, writer } = options;
  const addresses = publishedAddresses(view.configMaps.values());
  // No address is published yet, or a person provides the certificate.
  if (addresses.dnsNames.length + addresses.ipAddresses.length === 0) return;
  const find = (name: string) => ours(view.secrets.get(pathOf({ namespace, name })), namespace);
  const [authority, serving] = [find(IGNITION_CA_SECRET), find(SERVING_CERTIFICATE_SECRET)];
  const { keepOrIssue } = await import("../../../tunnel/pki/keep.js");
  const kept = { signers: named(SIGNER_NAME, authority), leaves: named(LEAF_NAME, serving) };
  const wanted = await keepOrIssue(servingProfile(addresses), kept, {
    renewBeforeMs: RENEW_BEFORE_MS,
    now: new Date(now()),
  });
  const [signer, leaf] = [wanted.signers.get(SIGNER_NAME)!, wanted.leaves.get(LEAF_NAME)!];
  // The authority first: user data must not lag behind the certificate.
  await put(writer, authority, pairSecret(namespace, IGNITION_CA_SECRET, signer));
  const ca = { "ca.crt": encoded(signer.certificatePem) };
  await put(writer, serving, pairSecret(namespace, SERVING_CERTIFICATE_SECRET, leaf, ca));
  for (const { name, why } of wanted.issued) onIssued?.(`the certificate ${name} was issued: ${why}`);
}

/** The Secret if drawbridge made it. Throws for one that a person made: it is not replaced. */
function ours(secret: Secret | undefined, namespace: string): Secret | undefined {
  if (secret === undefined || secret.metadata?.labels?.[OWNER_LABEL] === OWNER_NAME) return secret;
  throw new DrawbridgeError(
    "DB_NODEPOOL",
    `the Secret ${namespace}/${secret.metadata?.name} was not made by drawbridge, so it stays as it is; name its authority as ignitionCA in the cluster's ConfigMap, or delete it to have one issued`,
  );
}

function named(name: string, secret: Secret | undefined): ReadonlyMap<string, PemPair> {
  if (secret === undefined) return new Map();
  const certificatePem = secretText(secret, "tls.crt") ?? "";
  return new Map([[name, { certificatePem, privateKeyPem: secretText(secret, "tls.key") ?? "" }]]);
}

function pairSecret(
  namespace: string,
  name: string,
  { certificatePem, privateKeyPem }: PemPair,
  more: Readonly<Record<string, string>> = {},
): Secret {
  const metadata = { name, namespace, labels: { [OWNER_LABEL]: OWNER_NAME } };
  const data = { "tls.crt": encoded(certificatePem), "tls.key": encoded(privateKeyPem), ...more };
  return kubeManifest("Secret", metadata, { type: "kubernetes.io/tls", data });
}

async function put(writer: Writer, before: Secret | undefined, wanted: Secret): Promise<void> {
  const changed = before && withData(typed("Secret", before), { ...before.data, ...wanted.data });
  const writes: ObjectWrite[] = before === undefined ? [{ verb: "create", object: wanted }] : updateOf(changed);
  for (const write of writes) await writer.perform(write);
}

/** The addresses of all clusters that name no authority of their own: the certificate is issued for them. */
export function publishedAddresses(maps: Iterable<ConfigMap>) {
  const hosts = new Set<string>();
  for (const map of maps) {
    if (!isClusterObject(map) || map.data?.ignitionCA?.trim()) continue;
    const { ignitionAddresses = "", ignitionEndpoint = "" } = map.data ?? {};
    for (const address of [ignitionEndpoint, ...ignitionAddresses.split(/[\s,]+/)]) {
      if (address.trim() !== "") hosts.add(hostOf(address.trim(), map));
    }
  }
  const sorted = [...hosts].sort();
  return {
    dnsNames: sorted.filter((host) => isIP(host) === 0),
    ipAddresses: sorted.filter((host) => isIP(host) !== 0),
  };
}

/** The host without port and brackets, in the spelling that certificates have. */
function hostOf(address: string, map: ConfigMap): string {
  const url = isIP(address) === 6 ? `https://[${address}]` : `https://${address}`;
  const host = URL.canParse(url) ? new URL(url).hostname.replace(/^\[|\]$/g, "") : "";
  if (host === "" || /[/@?#]/.test(address)) {
    throw new DrawbridgeError(
      "DB_NODEPOOL",
      `ConfigMap ${pathOf(nameOf(map))} publishes the Ignition server at "${address}", which is neither a name nor an address`,
    );
  }
  return host;
}

const SIGNER_NAME = "ignition-root-ca";
const LEAF_NAME = "ignition-server";

const DAY_MS = 24 * 60 * 60_000;

/** The Ignition server's certificates: a signer for ten years and a certificate for a year. */
function servingProfile(addresses: ReturnType<typeof publishedAddresses>): ProfileSet {
  return {
    key: "p256",
    keyFormat: "pkcs8",
    // Machines have no time from the network when they first come.
    backdateMs: DAY_MS,
    signers: [
      {
        name: SIGNER_NAME,
        commonName: SIGNER_NAME,
        organizations: [],
        organizationalUnits: ["drawbridge"],
        validForMs: 3650 * DAY_MS,
      },
    ],
    leaves: [
      {
        name: LEAF_NAME,
        signer: SIGNER_NAME,
        use: "server",
        commonName: LEAF_NAME,
        organizations: ["drawbridge"],
        validForMs: 365 * DAY_MS,
        ...addresses,
      },
    ],
    bundles: [],
  };
}

/** A certificate is issued again this long before its end. */
const RENEW_BEFORE_MS = 30 * DAY_MS;
