/** `drawbridge hosted render`: parse, render, print or write. */
import { join } from "node:path";
import type { HostedConfig } from "../../cluster/hosted/config/config.js";
import type { HostedModel } from "../../cluster/hosted/model/model.js";
import type { Certificates } from "../../cluster/hosted/render/certificates.js";
import type { Side } from "../../cluster/hosted/render/manifest.js";
import type { Rendering } from "../../cluster/hosted/render/render.js";
import { choice } from "../flags/choice.js";
import { boolean, string } from "../flags/flag-value.js";
import { runRole } from "../framework/command.js";
import { usagePage } from "../framework/help.js";
import type { Environment, Invocation } from "../framework/invocation.js";
import { MISUSE } from "../framework/subcommands.js";
import { version } from "../framework/version.js";
import { withClusters } from "./clusters.js";
import { declareHostedFlags, type HostedFlags, hostedConfig, refused, refuseWords } from "./flags.js";

interface RenderConfig {
  readonly flags: HostedFlags;
  readonly side: Side | "all";
  readonly output: "yaml" | "json";
  readonly out: string;
  readonly pki: string;
  readonly kubeconfig: string;
  readonly showSecrets: boolean;
}

const purpose = `Prints every object of both sides and the patches for others' Deployments, or writes them.

Certificates come from the control plane's Secrets (--kubeconfig) or from a directory (--pki); without either, Secrets and
trust bundles are left out. Keys are printed with --show-secrets only.`;

export function hostedRender(program: string, argv: readonly string[]): Promise<number> {
  return runRole({ parse: (words, env) => parse(program, words, env), run }, program, argv, { misuse: MISUSE });
}

function parse(program: string, argv: readonly string[], env: Environment): Invocation<RenderConfig> {
  // The environment's kubeconfig is not meant here: rendering asks a cluster only when told to.
  const { set, flags } = declareHostedFlags(program, { ...env, KUBECONFIG: undefined });
  const side = set.add("side", choice("control-plane", "hosted", "all"), undefined, "Whose objects. If empty, all.");
  const output = set.add("output", choice("yaml", "json"), undefined, "How to print. If empty, yaml.");
  const out = set.add(
    "out",
    string,
    "",
    "Directory to write files into, those of Secrets 0600. If empty, they are printed.",
  );
  const pki = set.add("pki", string, "", "Directory that drawbridge pki init --profile hosted made.");
  const showSecrets = set.add("show-secrets", boolean, false, "Print keys, too.");
  const { positional, warnings } = set.parse(argv);
  if (flags.help.value) return { help: usagePage(program, purpose, set) };
  refuseWords(positional);
  if (pki.value !== "" && flags.kubeconfig.value !== "") throw refused("--pki and --kubeconfig exclude each other");
  const config = {
    flags,
    side: side.value ?? "all",
    output: output.value ?? "yaml",
    out: out.value,
    pki: pki.value,
    kubeconfig: flags.kubeconfig.value,
    showSecrets: showSecrets.value,
  } as const;
  return { config, logging: { verbosity: 0, format: "text" }, warnings };
}

async function run({ flags, side, output, out, showSecrets, ...source }: RenderConfig): Promise<number> {
  const config = await hostedConfig(flags);
  const [{ renderHosted: render }, text] = await Promise.all([
    import("../../cluster/hosted/render/render.js"),
    import("../../cluster/hosted/render/render.js"),
  ]);
  const { model, certificates } = await described(config, source);
  const all = render(model, certificates);
  const isWanted = (of: Side) => side === "all" || side === of;
  const chosen: Rendering = {
    objects: all.objects.filter((object) => isWanted(object.side)),
    patches: isWanted("control-plane") ? all.patches : [],
  };
  if (out !== "") {
    const { writeRendering } = await import("../framework/files.js");
    const written = await writeRendering(out, text.renderedFiles(chosen));
    process.stdout.write(output === "json" ? `${JSON.stringify({ files: written }, null, 2)}\n` : lines(written));
  } else {
    const manifestOf = showSecrets
      ? (manifest: (typeof chosen.objects)[number]["manifest"]) => manifest
      : text.withHiddenValues;
    const objects = chosen.objects.map((object) => ({ ...object, manifest: manifestOf(object.manifest) }));
    const shown = { ...chosen, objects };
    process.stdout.write(
      output === "json" ? `${JSON.stringify(shown, null, 2)}\n` : text.renderedStream(shown.objects, shown.patches),
    );
  }
  if (certificates === undefined) {
    process.stderr.write(
      "Without --pki or --kubeconfig there are no certificates: Secrets and trust bundles are left out. drawbridge hosted apply makes them.\n",
    );
  }
  return 0;
}

const lines = (words: readonly string[]): string => words.map((word) => `${word}\n`).join("");

interface Described {
  readonly model: HostedModel;
  readonly certificates: Certificates | undefined;
}

async function described(config: HostedConfig, source: { pki: string; kubeconfig: string }): Promise<Described> {
  const { hostedModel } = await import("../../cluster/hosted/model/model.js");
  if (source.kubeconfig === "") {
    const model = hostedModel(config, { version: version() });
    return { model, certificates: source.pki === "" ? undefined : await fromDirectory(source.pki, model) };
  }
  return withClusters({ kubeconfig: source.kubeconfig, hostedKubeconfig: "" }, async ({ management }) => {
    const [{ publishedAddress }, { currentCertificates }] = await Promise.all([
      import("../../cluster/hosted/apply/apply.js"),
      import("../../cluster/hosted/apply/apply.js"),
    ]);
    const { host } = await publishedAddress(management, config.controlPlaneNamespace, config.publishing);
    const model = hostedModel(config, { version: version(), host });
    return { model, certificates: await currentCertificates(management, model) };
  });
}

/** Signers' keys may not have been kept; then the signers stay where they are. */
async function fromDirectory(dir: string, model: HostedModel): Promise<Certificates> {
  const [{ readCertificateSet }, { hostedProfile }, { pkiOptions }, { readFile }] = await Promise.all([
    import("../../tunnel/pki/certificate-set.js"),
    import("../../tunnel/pki/profiles/hosted.js"),
    import("../../cluster/hosted/model/model.js"),
    import("node:fs/promises"),
  ]);
  const set = hostedProfile(pkiOptions(model));
  const pair = (name: string) => {
    const read = readCertificateSet({ certFile: join(dir, `${name}.crt`), keyFile: join(dir, `${name}.key`) });
    return { certificatePem: read.cert!, privateKeyPem: read.key! };
  };
  const hasKey = async (name: string) =>
    (await readFile(join(dir, `${name}.key`)).catch(() => undefined)) !== undefined;
  const signers = new Map<string, ReturnType<typeof pair>>();
  for (const { name } of set.signers) if (await hasKey(name)) signers.set(name, pair(name));
  const bundles = new Map<string, string>();
  for (const { name } of set.bundles) bundles.set(name, readCertificateSet({ caFile: join(dir, `${name}.crt`) }).ca!);
  return { signers, leaves: new Map(set.leaves.map(({ name }) => [name, pair(name)])), bundles };
}
