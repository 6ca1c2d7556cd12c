/** Certificates, keys and what is trusted. Signers' keys are in the control plane's namespace and nowhere else. */
import { createHash } from "node:crypto";
import type { UpToDatePki } from "../../../tunnel/pki/keep.js";
import type { HostedModel } from "../model/model.js";
import { hypershift, names } from "../model/names.js";
import { own, type RenderedObject, type Side } from "./manifest.js";

export type Certificates = Pick<UpToDatePki, "signers" | "leaves" | "bundles">;

/** Of all this the hosted cluster gets the workers' own certificate and the authority of the server's; none without certificates. */
export function certificateObjects(model: HostedModel, side: Side, certificates?: Certificates): RenderedObject[] {
  if (certificates === undefined) return [];
  const { signers, leaves, bundles } = certificates;
  const isHosted = side === "hosted";
  const trusted = new Set([names.caBundle, ...(isHosted ? [] : [model.bundles.agents, model.bundles.clients])]);
  const secret = (name: string, texts: Readonly<Record<string, string>>): RenderedObject => {
    const data = Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString("base64")]);
    return own(model, side, "Secret", { name }, { type: "Opaque", data: Object.fromEntries(data) });
  };
  return [
    ...[...(isHosted ? [] : signers)].map(([name, { certificatePem, privateKeyPem, next }]) =>
      secret(name, {
        "ca.crt": certificatePem,
        "ca.key": privateKeyPem,
        // HyperShift keeps copies under these names.
        ...(model.signers === "shared" && { "tls.crt": certificatePem, "tls.key": privateKeyPem }),
        ...(next && { "next.crt": next.certificatePem, "next.key": next.privateKeyPem }),
      }),
    ),
    ...[...leaves]
      .filter(([name]) => !isHosted || name === names.agent)
      .map(([name, { certificatePem, privateKeyPem }]) => {
        const ca = caOf(name, model, certificates);
        return secret(name, { "tls.crt": certificatePem, "tls.key": privateKeyPem, "ca.crt": ca });
      }),
    ...[...trusted].map((name) =>
      own(model, side, "ConfigMap", { name }, { data: { "ca.crt": bundles.get(name) ?? "" } }),
    ),
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
