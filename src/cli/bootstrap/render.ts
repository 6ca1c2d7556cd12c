/** `drawbridge bootstrap render`: parse, render, print or write. */
import { join } from "node:path";
import { DrawbridgeError } from "../../base/errors/error.js";
import { createdObjects, firewallRule } from "../../cluster/bootstrap/model/created.js";
import { type BridgeModel, bridgeModel } from "../../cluster/bootstrap/model/model.js";
import { pkiFile } from "../../cluster/bootstrap/model/names.js";
import type { AgentCertificates } from "../../cluster/bootstrap/render/objects.js";
import { openPlaceholders, type Part, type RenderedFile } from "../../cluster/bootstrap/render/render.js";
import { quote } from "../flags/go-text.js";
import { runRole } from "../framework/command.js";
import { usagePage } from "../framework/help.js";
import type { Invocation } from "../framework/invocation.js";
import { MISUSE } from "../framework/subcommands.js";
import { version } from "../framework/version.js";
import { declareRenderFlags, type RenderFlags } from "./render-flags.js";

interface RenderConfig {
  readonly model: BridgeModel;
  readonly pki: string;
  readonly part: Part | "all";
  readonly out: string;
  readonly output: "yaml" | "json";
}

export function bootstrapRender(program: string, argv: readonly string[]): Promise<number> {
  return runRole({ parse: (words) => parse(program, words), run }, program, argv, { misuse: MISUSE });
}

function parse(program: string, argv: readonly string[]): Invocation<RenderConfig> {
  const { set, flags } = declareRenderFlags(program);
  const { positional, warnings } = set.parse(argv);
  if (flags.help.value) {
    return { help: usagePage(program, "Prints every manifest, flag and unit of the bridge, or writes them.", set) };
  }
  const [word] = positional;
  if (word !== undefined) throw refused(`${quote(word)} belongs to no flag`);
  const config = {
    model: modelOf(flags),
    pki: flags.pki.value,
    part: flags.part.value ?? "all",
    out: flags.out.value,
    output: flags.output.value ?? "yaml",
  } as const;
  return { config, logging: { verbosity: 0, format: "text" }, warnings };
}

function modelOf(flags: RenderFlags): BridgeModel {
  const topology = flags.for.value;
  if (topology === undefined) throw refused("--for is missing: openshift, kubeadm or bare");
  const given = (flag: { readonly value: string }): string | undefined => flag.value || undefined;
  return bridgeModel({
    for: topology,
    protocol: flags.protocol.value === "http-connect" ? "HTTPConnect" : "GRPC",
    imageKind: flags.imageKind.value,
    image: given(flags.image),
    serverImage: given(flags.serverImage),
    agentImage: given(flags.agentImage),
    version: version(),
    agentNetwork: flags.agentNetwork.value,
    serverAddresses: flags.serverAddress.value,
    serverForm: flags.serverForm.value,
    serverProgram: given(flags.serverProgram),
    socketGroup: flags.socketGroup.value,
    runtimeDirectory: given(flags.runtimeDirectory),
    configDirectory: given(flags.configDirectory),
    manifestsDirectory: given(flags.manifestsDirectory),
  });
}

async function run({ model, pki, part, out, output }: RenderConfig): Promise<number> {
  const { renderedFiles } = await import("../../cluster/bootstrap/render/render.js");
  const certificates = pki === "" ? undefined : await readCertificates(pki);
  const files = renderedFiles(model, certificates).filter((file) => part === "all" || file.part === part);
  if (out !== "") {
    const { writeRendering } = await import("../framework/files.js");
    await writeRendering(out, files);
  }
  process.stdout.write(output === "json" ? asJson(model, files, out) : out === "" ? asYaml(files) : asList(files, out));
  const open = openPlaceholders(files);
  if (open.length > 0) {
    process.stderr.write(
      `Left open for the host to fill in, for example with sed "s|NAME|value|g": ${open.join(", ")}. --image, --server-address and --pki fill them now.\n`,
    );
  }
  return 0;
}

/** The agents' part of a PKI directory; the pair is checked before it is printed anywhere. */
async function readCertificates(directory: string): Promise<AgentCertificates> {
  const { readCertificateSet } = await import("../../tunnel/pki/certificate-set.js");
  const { cert, key, ca } = readCertificateSet({
    certFile: pkiFile(directory, "agentCert"),
    keyFile: pkiFile(directory, "agentKey"),
    caFile: pkiFile(directory, "ca"),
  });
  return { cert: cert!, key: key!, ca: ca! };
}

function asYaml(files: readonly RenderedFile[]): string {
  return files
    .map((file) => {
      const isYaml = file.documents.length > 0;
      const text = isYaml ? file.text : `${file.text.trimEnd().replace(/^/gm, "#   ")}\n`;
      return `# ${file.name}, ${described(file)}\n${text}`;
    })
    .join("---\n");
}

function asList(files: readonly RenderedFile[], directory: string): string {
  return files.map((file) => `${join(directory, file.name)}: ${described(file)}\n`).join("");
}

const purposes = {
  cluster: "apply to the cluster",
  host: "for the server's host",
  "kube-apiserver": "for the kube-apiserver",
} as const satisfies Record<Part, string>;

function described({ part, path, mode }: RenderedFile): string {
  return `${purposes[part]}${path === undefined ? "" : `: ${path}, mode ${octal(mode)}`}`;
}

function asJson(model: BridgeModel, files: readonly RenderedFile[], directory: string): string {
  const listed = files.map(({ name, part, path, mode, text }) => ({
    name,
    part,
    path,
    mode: octal(mode),
    ...(directory === "" ? { text } : { file: join(directory, name) }),
  }));
  const rendering = {
    for: model.for,
    files: listed,
    open: openPlaceholders(files),
    created: createdObjects(model),
    firewall: firewallRule(model),
  };
  return `${JSON.stringify(rendering, null, 2)}\n`;
}

function octal(mode: number): string {
  return mode.toString(8).padStart(4, "0");
}

function refused(sentence: string): DrawbridgeError {
  return new DrawbridgeError("DB_FLAG_VALUE", sentence);
}
