/** Certificates, keys and what is trusted. Signers' keys are in the control plane's namespace and nowhere else. */
import { createHash } from "node:crypto";
import type { PemPair } from "../../../tunnel/pki/issue.js";
import type { UpToDatePki } from "../../../tunnel/pki/keep.js";
import type { HostedModel } from "../model/model.js";
import { hypershift, names } from "../model/names.js";
import { own, type RenderedObject, type Side } from "./manifest.js";

export type Certificates = Pick<UpToDatePki, "signers" | "leaves" | "bundles">;

const base64 = (text: string): string => Buffer.from(text).toString("base64");

function secret(model: HostedModel, side: Side, name: string, texts: Readonly<Record<string, string>>): RenderedObject {
  const data = Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, base64(text)]));
  return own(model, side, "Secret", { name }, { type: "Opaque", data });
}

function leafSecret(model: HostedModel, side: Side, name: string, pair: PemPair, ca: string): RenderedObject {
  return secret(model, side, name, { "tls.crt": pair.certificatePem, "tls.key": pair.privateKeyPem, "ca.crt": ca });
}

function bundle(model: HostedModel, side: Side, name: string, { bundles }: Certificates): RenderedObject {
  return own(model, side, "ConfigMap", { name }, { data: { "ca.crt": bundles.get(name) ?? "" } });
}

export function controlPlaneCertificates(model: HostedModel, certificates: Certificates): RenderedObject[] {
  const { signers, leaves } = certificates;
  const side = "control-plane";
  const bundles = new Set<string>([names.caBundle, model.bundles.agents, model.bundles.clients]);
  return [
    ...[...signers].map(([name, { certificatePem, privateKeyPem, next }]) =>
      secret(model, side, name, {
        "ca.crt": certificatePem,
        "ca.key": privateKeyPem,
        // HyperShift keeps copies under these names.
        ...(model.signers === "shared" ? { "tls.crt": certificatePem, "tls.key": privateKeyPem } : {}),
        ...(next === undefined ? {} : { "next.crt": next.certificatePem, "next.key": next.privateKeyPem }),
      }),
    ),
    ...[...leaves].map(([name, pair]) => leafSecret(model, side, name, pair, caOf(name, model, certificates))),
    ...[...bundles].map((name) => bundle(model, side, name, certificates)),
  ];
}

/** What the hosted cluster gets to see: the workers' own certificate and the authority of the server's. */
export function hostedCertificateObjects(model: HostedModel, certificates: Certificates): RenderedObject[] {
  const pair = certificates.leaves.get(names.agent)!;
  return [
    leafSecret(model, "hosted", names.agent, pair, caOf(names.agent, model, certificates)),
    bundle(model, "hosted", names.caBundle, certificates),
  ];
}

/** What the holder of a certificate checks its peer against. */
function caOf(leaf: string, model: HostedModel, { bundles }: Certificates): string {
  const byHolder: Readonly<Record<string, string>> = {
    [names.server]: model.bundles.clients,
    [names.cluster]: model.bundles.agents,
  };
  return bundles.get(byHolder[leaf] ?? names.caBundle) ?? "";
}

/** An annotation that rolls out pods whose programs read certificates only when they start. */
export function hashAnnotation(
  { images }: HostedModel,
  certificates: Certificates | undefined,
  leaves: readonly string[],
): Readonly<Record<string, string>> {
  if (images.reloads || certificates === undefined) return {};
  const hash = createHash("sha256");
  for (const name of leaves) hash.update(certificates.leaves.get(name)?.certificatePem ?? "");
  for (const [, text] of certificates.bundles) hash.update(text);
  return { [hypershift.configHash]: hash.digest("hex").slice(0, 16) };
}
