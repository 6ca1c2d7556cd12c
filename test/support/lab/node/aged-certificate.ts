import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Authority } from "../certificates.js";
import { mustSync } from "../run.js";

/** So much of a year is over that every kubelet asks for the next one. */
const DAYS_OVER = 360;
const DAYS_LEFT = 5;

/** A node's client certificate for the key in `pem` as it will be at the end of its life; with the key, as kubelets keep it. */
export function agedNodeCertificate(folder: string, ca: Authority, node: string, pem: string): string {
  mkdirSync(folder);
  const file = (name: string) => join(folder, name);
  const key = /-----BEGIN (\w+ )?PRIVATE KEY-----[\s\S]+?-----END (\w+ )?PRIVATE KEY-----\n/.exec(pem)?.[0] ?? "";
  writeFileSync(file("node.key"), key, { mode: 0o600 });
  writeFileSync(file("index.txt"), "");
  writeFileSync(file("node.ext"), "keyUsage=critical,digitalSignature\nextendedKeyUsage=clientAuth\n");
  writeFileSync(
    file("ca.conf"),
    `[ca]\ndefault_ca=lab\n[lab]\ndatabase=${file("index.txt")}\nnew_certs_dir=${folder}\ndefault_md=sha256\nrand_serial=yes
policy=subject\n[subject]\norganizationName=supplied\ncommonName=supplied\n`,
  );
  const subject = `/O=system:nodes/CN=system:node:${node}`;
  mustSync(["openssl", "req", "-new", "-key", file("node.key"), "-subj", subject, "-out", file("node.csr")]);
  // The command that signs by days only cannot sign for a time that began before.
  mustSync([
    ...["openssl", "ca", "-batch", "-notext", "-config", file("ca.conf"), "-cert", ca.cert, "-keyfile", ca.key],
    ...["-startdate", daysFromNow(-DAYS_OVER), "-enddate", daysFromNow(DAYS_LEFT), "-extfile", file("node.ext")],
    ...["-in", file("node.csr"), "-out", file("node.crt")],
  ]);
  return `${readFileSync(file("node.crt"), "utf8")}${key}`;
}

/** `20310102030405Z`. */
function daysFromNow(days: number): string {
  const time = new Date(Date.now() + days * 24 * 60 * 60_000).toISOString();
  return `${time.slice(0, 19).replace(/\D/g, "")}Z`;
}
