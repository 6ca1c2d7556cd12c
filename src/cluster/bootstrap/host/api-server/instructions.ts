/** What a person has to change in the kube-apiserver, to the letter. */
import { apiServerFlag } from "../../model/arguments.js";
import type { BridgeModel } from "../../model/model.js";
import { volumes } from "../../render/kubeadm.js";
import { renderedFiles } from "../../render/render.js";
import { toYaml } from "../../render/yaml.js";
import type { SettingWay } from "../record.js";

export interface Instructions {
  readonly flag: string;
  /** For a terminal. */
  readonly text: string;
  /** The same for kubeadm itself, when it makes the kube-apiserver. */
  readonly files: readonly { readonly name: string; readonly text: string }[];
}

export function instructionsFor(model: BridgeModel, way: SettingWay): Instructions {
  const { name, value } = apiServerFlag(model);
  const flag = `--${name}=${value}`;
  const files = renderedFiles(model)
    .filter(({ part }) => part === "kube-apiserver")
    .map(({ name: file, text }) => ({ name: file, text }));
  return {
    flag,
    text: way.by === "manifest" ? editOf(model, way.manifest, flag) : flagOf(model, flag),
    files: model.for === "kubeadm" ? files : [],
  };
}

function editOf(model: BridgeModel, manifest: string, flag: string): string {
  const mounts = volumes(model).map(({ name, path }) => ({ mountPath: path, name, readOnly: true }));
  const added = volumes(model).map(({ name, path, type }) => ({ hostPath: { path, type }, name }));
  return [
    `In ${manifest} add to the kube-apiserver's container (keep a copy of the file outside its directory):`,
    "",
    indented(toYaml([{ command: [flag], volumeMounts: mounts }])),
    "and to the pod:",
    "",
    indented(toYaml([{ volumes: added }])),
    "The kubelet then restarts it. drawbridge bootstrap up --apply does the same.",
    "For a kube-apiserver that kubeadm is still to make, merge one of the ClusterConfiguration fragments or use the patches of",
    "drawbridge bootstrap render --for kubeadm --part kube-apiserver --out DIR.",
  ].join("\n");
}

function flagOf({ paths }: BridgeModel, flag: string): string {
  return [
    "Add this flag to the kube-apiserver's command and restart it:",
    "",
    `  ${flag}`,
    "",
    `A kube-apiserver in a container needs ${paths.egressConfig.host} and ${paths.socketDirectory.host} mounted under the same paths.`,
  ].join("\n");
}

/** The reverse. */
export function undoInstructions(model: BridgeModel, way: SettingWay): string {
  const { name, value } = apiServerFlag(model);
  const where = way.by === "manifest" ? `in ${way.manifest}` : "from the kube-apiserver's command";
  return `Take --${name}=${value} away ${where} and restart the kube-apiserver`;
}

function indented(text: string): string {
  return text.replace(/^(?=.)/gm, "  ");
}
