/** `drawbridge hosted render`: every object of both sides, printed or written. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { readApiServer } from "../../cluster/hosted/apply/api-server.js";
import { currentCertificates, publishedAddress } from "../../cluster/hosted/apply/apply.js";
import type { HostedConfig } from "../../cluster/hosted/config/config.js";
import { type HostedModel, hostedModel, pkiOptions } from "../../cluster/hosted/model/model.js";
import type { Certificates } from "../../cluster/hosted/render/certificates.js";
import type { Side } from "../../cluster/hosted/render/manifest.js";
import type { Rendering } from "../../cluster/hosted/render/render.js";
import * as rendering from "../../cluster/hosted/render/render.js";
import { readCertificateSet } from "../../tunnel/pki/certificate-set.js";
import { hostedProfile } from "../../tunnel/pki/profiles.js";
import { filePath, oneOf, yesNo } from "../flags/flag.js";
import { type ClusterValues, clusterFlags } from "../flags/kubernetes.js";
import { refused } from "../flags/parse.js";
import { defineCommand, VERSION } from "../framework/define.js";
import { writeRendering } from "../framework/files.js";
import { note } from "../framework/output.js";
import { descriptionFlags, hostedConfig, withHostedClusters } from "./shared.js";

export default defineCommand({
  purpose: `Prints every object of both sides and the patches for others' Deployments, or writes them.

Certificates come from the control plane's Secrets (--kubeconfig) or from a directory (--pki); without either, Secrets and
trust bundles are left out. Keys are printed with --show-secrets only.`,
  examples: ["drawbridge hosted render --config demo.yaml --out demo"],
  flags: {
    ...descriptionFlags,
    // KUBECONFIG is not used here: rendering asks a cluster only when a flag names one.
    ...clusterFlags("the management cluster, to take certificates from", "no cluster is asked"),
    side: oneOf(["control-plane", "hosted", "all"], "Side whose objects are rendered.", "all"),
    out: filePath("Directory to write files into, those of Secrets 0600. If empty, they are printed."),
    pki: filePath("Directory that drawbridge pki init --profile hosted made."),
    "show-secrets": yesNo("Print keys, too."),
  },
  async run({ side, out, showSecrets, pki, kubeconfig, context, ...flags }, input) {
    if (pki !== "" && kubeconfig !== "") throw refused("--pki and --kubeconfig exclude each other");
    const config = await hostedConfig(flags, input);
    const { model, certificates } = await described(config, pki, { kubeconfig, context });
    const all = rendering.renderHosted(model, certificates);
    const isWanted = (of: Side) => side === "all" || side === of;
    const chosen: Rendering = {
      objects: all.objects.filter((object) => isWanted(object.side)),
      patches: isWanted("control-plane") ? all.patches : [],
    };
    if (certificates === undefined && all.objects.length > 0) {
      note(
        "Without --pki or --kubeconfig there are no certificates: Secrets and trust bundles are left out. drawbridge hosted apply makes them.\n",
      );
    }
    if (out !== "") return { files: await writeRendering(out, rendering.hostedFiles(chosen)) };
    const objects = showSecrets
      ? chosen.objects
      : chosen.objects.map((object) => ({ ...object, manifest: rendering.withHiddenValues(object.manifest) }));
    return { files: [], shown: { ...chosen, objects }, yaml: rendering.renderedStream(objects, chosen.patches) };
  },
  show: {
    yaml: ({ files, yaml }) => yaml ?? files.map((file) => `${file}\n`).join(""),
    json: ({ files, shown }) => shown ?? { files },
  },
});

async function described(config: HostedConfig, pki: string, cluster: ClusterValues) {
  if (cluster.kubeconfig === "") {
    const model = hostedModel(config, { version: VERSION });
    return { model, certificates: pki === "" ? undefined : fromDirectory(pki, model) };
  }
  return withHostedClusters({ ...cluster, hostedKubeconfig: "", hostedContext: "" }, async ({ management }) => {
    const { host } = await publishedAddress(management, config.controlPlaneNamespace, config.publishing);
    const { facts } = await readApiServer(management, config, false);
    const model = hostedModel(config, { version: VERSION, host, facts });
    return { model, certificates: await currentCertificates(management, model) };
  });
}

/** Signers' keys may not have been kept; then the signers stay where they are. */
function fromDirectory(dir: string, model: HostedModel): Certificates {
  const set = hostedProfile(pkiOptions(model));
  const pair = (name: string) => {
    const read = readCertificateSet({ certFile: join(dir, `${name}.crt`), keyFile: join(dir, `${name}.key`) });
    return { certificatePem: read.cert!, privateKeyPem: read.key! };
  };
  const kept = set.signers.filter(({ name }) => existsSync(join(dir, `${name}.key`)));
  const bundle = (name: string) => readCertificateSet({ caFile: join(dir, `${name}.crt`) }).ca!;
  return {
    signers: new Map(kept.map(({ name }) => [name, pair(name)])),
    leaves: new Map(set.leaves.map(({ name }) => [name, pair(name)])),
    bundles: new Map(set.bundles.map(({ name }) => [name, bundle(name)])),
  };
}
