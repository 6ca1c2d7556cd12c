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

/** An annotation that rolls out pods when one of these changes, which a program of theirs reads only when it starts. */
export function hashAnnotation(
  certificates: Certificates | undefined,
  names: readonly string[],
): Readonly<Record<string, string>> {
  if (certificates === undefined || names.length === 0) return {};
  const { leaves, bundles } = certificates;
  const hash = createHash("sha256");
  for (const name of names) hash.update(leaves.get(name)?.certificatePem ?? bundles.get(name) ?? "");
  return { [hypershift.configHash]: hash.digest("hex").slice(0, 16) };
}

/** What the tunnel's own programs read only when they start: ours take up new files while they run. */
export const readAtStart = ({ images, bundles }: HostedModel, leaves: readonly string[]): readonly string[] =>
  images.reloads ? [] : [...leaves, names.caBundle, bundles.agents, bundles.clients];
