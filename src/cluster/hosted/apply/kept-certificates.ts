/** Certificates live in the control plane's Secrets: read back from there, made or renewed where they must be. */

import type { PemPair } from "../../../tunnel/pki/issue.js";
import type { KeptSigner, RotationStep, UpToDatePki } from "../../../tunnel/pki/keep.js";
import { hostedProfile } from "../../../tunnel/pki/profiles/hosted.js";
import { find } from "../../kube/find.js";
import { namedPath } from "../../kube/paths.js";
import type { KubeApi, KubeObject } from "../../kube/port.js";
import { type HostedModel, pkiOptions } from "../model/model.js";

interface Secret extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

const DAY_MS = 24 * 60 * 60_000;

export interface CertificateWishes {
  readonly rotation?: RotationStep | undefined;
  readonly now?: Date;
}

export async function currentCertificates(
  api: KubeApi,
  model: HostedModel,
  { rotation, now = new Date() }: CertificateWishes = {},
): Promise<UpToDatePki> {
  const set = hostedProfile(pkiOptions(model));
  const signers = new Map<string, KeptSigner>();
  for (const { name } of set.signers) {
    const data = await secretData(api, model.namespace, name);
    const pair = pairIn(data, "ca.crt", "ca.key");
    if (pair !== undefined) signers.set(name, { ...pair, next: pairIn(data, "next.crt", "next.key") });
  }
  const leaves = new Map<string, PemPair>();
  for (const { name } of set.leaves) {
    const pair = pairIn(await secretData(api, model.namespace, name), "tls.crt", "tls.key");
    if (pair !== undefined) leaves.set(name, pair);
  }
  const { keepOrIssue } = await import("../../../tunnel/pki/keep.js");
  const renewBeforeMs = model.certificates.renewDays * DAY_MS;
  return keepOrIssue(set, { signers, leaves }, { renewBeforeMs, rotation, now });
}

async function secretData(api: KubeApi, namespace: string, name: string): Promise<Secret["data"]> {
  return (await find<Secret>(api, namedPath("Secret", { namespace, name })))?.data;
}

function pairIn(data: Secret["data"], cert: string, key: string): PemPair | undefined {
  const [certificate, privateKey] = [data?.[cert], data?.[key]];
  if (certificate === undefined || privateKey === undefined) return undefined;
  const text = (base64: string): string => Buffer.from(base64, "base64").toString();
  return { certificatePem: text(certificate), privateKeyPem: text(privateKey) };
}
