/** `drawbridge bootstrap render`: every manifest, flag and unit of the bridge, printed or written. */

import { join } from "node:path";
import { octal } from "../../cluster/bootstrap/host/files.js";
import { readAgentCertificates } from "../../cluster/bootstrap/host/steps/host.js";
import { createdObjects, firewallRule } from "../../cluster/bootstrap/model/created.js";
import { type BridgeModel, bridgeModel } from "../../cluster/bootstrap/model/model.js";
import { topologies } from "../../cluster/bootstrap/model/names.js";
import {
  openPlaceholders,
  type RenderedFile,
  type RenderedPart,
  renderedFiles,
} from "../../cluster/bootstrap/render/render.js";
import { filePath, list, oneOf, type Values } from "../flags/flag.js";
import { missing } from "../flags/parse.js";
import { defineCommand, type Input, VERSION } from "../framework/define.js";
import { writeRendering } from "../framework/files.js";
import { note } from "../framework/output.js";
import { bridgeOptionsOf, hostFlags, programFlags, SERVER_FORMS } from "./bridge-flags.js";

const renderFlags = {
  "for-platform": { ...oneOf(topologies, "Kind of control plane that the bridge is for. Required."), alias: "for" },
  part: oneOf(
    ["all", "cluster", "host", "kube-apiserver"],
    "Part to render: what is applied to the cluster, put on the server's host, or added to the kube-apiserver.",
    "all",
  ),
  out: filePath("Directory to write the files into. If empty, they are printed."),
  pki: filePath(
    "Directory with agent.crt, agent.key and ca.crt to fill the Secret from. If empty, it keeps placeholders and no key is printed.",
  ),
  "server-address": list(
    "IP address at which agents reach the server; one for each kube-apiserver. If empty, a placeholder.",
  ),
  "server-form": oneOf(
    SERVER_FORMS,
    "What keeps the server running. If empty, a static pod, on bare hosts a systemd unit.",
  ),
  ...programFlags({
    kind: "Programs that run: the OpenShift payload's (default there), upstream's, or drawbridge's (default elsewhere).",
    image: "Pull spec of the image with both programs. If empty, the image kind's own.",
    network:
      "Network of the agents: the pods' (default), or their nodes', where they start before the network plugin. On OpenShift host needs 4.11 or newer.",
  }),
  ...hostFlags("/usr/local/bin/proxy-server"),
};

export default defineCommand({
  purpose: "Prints every manifest, flag and unit of the bridge, or writes them; json also names what teardown removes.",
  examples: ["drawbridge bootstrap render --for-platform kubeadm --server-address 10.0.0.5 --out bridge"],
  flags: renderFlags,
  config: (flags, input) => ({ ...flags, model: modelOf(flags, input) }),
  async run({ model, pki, part, out }) {
    const certificates = pki === "" ? undefined : await readAgentCertificates(pki);
    const files = renderedFiles(model, certificates).filter((file) => part === "all" || file.part === part);
    if (out !== "") await writeRendering(out, files);
    const open = openPlaceholders(files);
    if (open.length > 0) {
      note(
        `Left open for the host to fill in, for example with sed "s|NAME|value|g": ${open.join(", ")}. --image, --server-address and --pki fill them now.\n`,
      );
    }
    return files;
  },
  show: {
    yaml: (files, { out }) => (out === "" ? asYaml(files) : asList(files, out)),
    json: (files, { model, out }) => asJson(model, files, out),
  },
});

function modelOf(flags: Values<typeof renderFlags>, { given }: Input): BridgeModel {
  if (flags.forPlatform === undefined) throw missing("--for-platform is missing: openshift, kubeadm or bare");
  const { serverAddress: serverAddresses, serverForm } = flags;
  return bridgeModel({
    ...{ protocol: "GRPC", ...bridgeOptionsOf(flags, given) },
    ...{ for: flags.forPlatform, version: VERSION, serverAddresses, serverForm },
  });
}

function asYaml(files: readonly RenderedFile[]): string {
  return files
    .map((file) => {
      const isYaml = file.document !== undefined;
      const text = isYaml ? file.text : `${file.text.trimEnd().replace(/^/gm, "#   ")}\n`;
      return `# ${file.name}, ${described(file)}\n${text}`;
    })
    .join("---\n");
}

function asList(files: readonly RenderedFile[], directory: string): string {
  return files.map((file) => `${join(directory, file.name)}: ${described(file)}\n`).join("");
}

const PART_TEXTS = {
  cluster: "apply to the cluster",
  host: "for the server's host",
  "kube-apiserver": "for the kube-apiserver",
} as const satisfies Record<RenderedPart, string>;

function described({ part, path, mode }: RenderedFile): string {
  return `${PART_TEXTS[part]}${path === undefined ? "" : `: ${path}, mode ${octal(mode)}`}`;
}

function asJson(model: BridgeModel, files: readonly RenderedFile[], directory: string): object {
  const listed = files.map(({ name, part, path, mode, text }) => ({
    name,
    part,
    path,
    mode: octal(mode),
    ...(directory === "" ? { text } : { file: join(directory, name) }),
  }));
  return {
    for: model.for,
    files: listed,
    open: openPlaceholders(files),
    created: createdObjects(model),
    firewall: firewallRule(model),
  };
}
