import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { BridgeLab } from "../lab/bridge/lab.js";

/**
 * The rendered egress selector (in a folder that `hosted render --out` wrote), with its Secrets where a kube-apiserver
 * finds them that is no pod.
 */
export function writeEgress(lab: BridgeLab, rendered: string): string {
  const text = (file: string) => readFileSync(`${rendered}/control-plane/${file}`, "utf8");
  const root = lab.scope.file("certs");
  const put = (file: string, content: Buffer) => {
    mkdirSync(dirname(`${root}/${file}`), { recursive: true });
    writeFileSync(`${root}/${file}`, content, { mode: 0o600 });
  };
  const client = text("secret-konnectivity-client.yaml");
  const value = (key: string) => {
    const [, found = ""] = new RegExp(`^  ${key.replace(".", "\\.")}: (.*)$`, "m").exec(client) ?? [];
    return Buffer.from(found, "base64");
  };
  for (const key of ["tls.crt", "tls.key"]) put(`konnectivity-client/${key}`, value(key));
  put("konnectivity-ca/ca.crt", value("ca.crt"));
  const [, config = ""] = text("configmap-kas-egress-selector-config.yaml").split("config.yaml: |\n");
  const inLab = config.replace(/^ {4}/gm, "").replaceAll("/etc/kubernetes/certs", root);
  const file = lab.scope.file("egress.yaml");
  writeFileSync(file, inLab);
  return file;
}
