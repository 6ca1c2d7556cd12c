/** Why machines would not get their configuration: the certificate they are shown, the payloads behind their tokens. */
import { X509Certificate } from "node:crypto";
import { splitHostPort } from "../../../base/address.js";
import { messageOf } from "../../../base/errors/error.js";
import { collectionPath } from "../../../cluster/kube/paths.js";
import { publishedAddresses } from "../../../cluster/nodes/controller/certificate.js";
import { type ConfigMap, pathOf, type Secret } from "../../../cluster/nodes/objects.js";
import { isTokenSecret, readTokenSecret } from "../../../cluster/nodes/token/token-secret.js";
import type { DoctorContext, PoolObjects } from "../context.js";
import { type Check, type Outcome, ok, skipped, warning, wrong } from "../diagnosis.js";
import { peek } from "../host/peek.js";
import { isFor } from "../shown-certificate.js";

const noObjects = skipped("the pools' objects are not known", "Give --kubeconfig and --namespace.");

export const ignitionCertificate: Check<DoctorContext> = {
  id: "ignition-certificate",
  roles: ["ignition"],
  async run({ host, address, objects, now }) {
    const running = await host.running("ignition");
    if (running === undefined) return [skipped("no Ignition server runs in this network")];
    const split = splitHostPort(running.flags.get("addr") ?? "0.0.0.0:9090");
    if ("error" in split) return [skipped(`its --addr cannot be read: ${split.error}`)];
    const at = ["", "0.0.0.0", "::"].includes(split.host) ? "127.0.0.1" : split.host;
    const peeked = await peek(at, Number(split.port), 6_000, "http/1.1");
    if (peeked.state !== "connected") {
      const finding = `the Ignition server runs but does not serve machines on ${at}:${split.port}`;
      const remedy =
        "Read its log: it waits for its certificate (--cert-file, --cert-secret) before it opens the port.";
      return [wrong(finding, remedy, peeked.detail)];
    }
    const certificate = new X509Certificate(peeked.certificate);
    const shown = `it shows ${certificate.subject.replaceAll("\n", ", ")} for ${certificate.subjectAltName ?? "no address"}`;
    const found: Outcome[] = [];
    if (now().getTime() > Date.parse(certificate.validTo)) {
      found.push(wrong(`the certificate ended ${certificate.validTo}, so machines ask for ever`, RENEW, shown));
    }
    const published = address === undefined ? await namesPublished(objects) : [address];
    if (typeof published === "string")
      return [...found, skipped(published, "Give the address machines are told with --address.")];
    for (const name of published.filter((one) => !isFor(certificate, one))) {
      const finding = `machines are told ${name}, but the certificate is not for it, so they ask for ever`;
      found.push(
        wrong(finding, `Issue it anew with ${name}, or correct ignitionEndpoint of the cluster. ${RENEW}`, shown),
      );
    }
    return found.length > 0
      ? found
      : [ok(`the certificate is for what machines are told: ${published.join(", ")}`, shown)];
  },
};

const RENEW = "drawbridge nodepool controller --issue-certificate keeps one for whatever address is published.";

/** A sentence when nothing tells. */
async function namesPublished(objects: DoctorContext["objects"]): Promise<readonly string[] | string> {
  if (objects === undefined || typeof objects === "string")
    return objects ?? "where machines find this server is not known";
  try {
    const { items } = await listOf<ConfigMap>(objects, "ConfigMap");
    // Whoever signed it, it must be for the address.
    const maps = items.map(({ data = {}, ...map }) => ({ ...map, data: { ...data, ignitionCA: "" } }));
    const { dnsNames, ipAddresses } = publishedAddresses(maps);
    const names = [...dnsNames, ...ipAddresses];
    return names.length > 0 ? names : `no cluster in ${objects.namespace} publishes an Ignition server`;
  } catch (reason) {
    return `the clusters of ${objects.namespace} cannot be read: ${messageOf(reason).replace(/\.$/, "")}`;
  }
}

export const ignitionTokens: Check<DoctorContext> = {
  id: "ignition-tokens",
  roles: ["ignition"],
  async run({ objects, now }) {
    if (objects === undefined) return [noObjects];
    if (typeof objects === "string") return [wrong(objects, "Check --kubeconfig.")];
    const secrets = (await listOf<Secret>(objects, "Secret")).items.filter(isTokenSecret);
    if (secrets.length === 0) {
      const finding = `no pool has a token Secret in ${objects.namespace}, so every machine gets 511`;
      const remedy = `See that drawbridge nodepool controller runs and its pools are in order: drawbridge nodepool status --namespace ${objects.namespace}.`;
      return [wrong(finding, remedy)];
    }
    const found = secrets.flatMap((secret) => judgeToken(secret, now().getTime()));
    return found.length > 0 ? found : [ok(`the payloads of ${secrets.length} token Secrets are made`)];
  },
};

function judgeToken(secret: Secret, now: number): Outcome[] {
  const { pool, outcome, expiresAt, token } = readTokenSecret(secret);
  const name = `Secret ${secret.metadata?.name}`;
  const whose = pool === undefined ? name : `pool ${pathOf(pool)}`;
  const remedy = `Ask drawbridge workers doctor${pool === undefined ? "" : ` --namespace ${pool.namespace} --pool ${pool.name}`} for the cause and each machine it concerns.`;
  // A former configuration's, on its way out.
  if (expiresAt !== undefined && !(expiresAt > now)) return [];
  if (token === undefined)
    return [wrong(`${whose} has a token Secret without a token, so machines get 511`, remedy, name)];
  if (outcome === undefined) {
    const finding = `no Ignition server has made the payload of ${whose} yet, so machines get 511`;
    return [
      wrong(finding, `See that this server reads that namespace (--namespace). ${remedy}`, `${name} has no key reason`),
    ];
  }
  if (outcome.reason === "AsExpected") return [];
  const says = outcome.message || outcome.reason;
  if (outcome.reason === "PayloadTooLarge") return [warning(`the payload of ${whose} is large: ${says}`, remedy, name)];
  return [
    wrong(`no payload can be made for ${whose}, so machines get 511: ${says}`, remedy, `${name}: ${outcome.reason}`),
  ];
}

function listOf<T extends ConfigMap | Secret>({ api, namespace }: PoolObjects, kind: "ConfigMap" | "Secret") {
  return api.list<T>(collectionPath(kind, namespace), { timeoutMs: 10_000 });
}
