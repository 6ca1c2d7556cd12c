/** `drawbridge pki issue`: one more certificate from a kept signer. */
import { addCertificate } from "../../tunnel/pki/renew.js";
import { list, oneOf, text, type Values, yesNo } from "../flags/flag.js";
import { missing, refused } from "../flags/parse.js";
import { defineCommand } from "../framework/define.js";
import { dirFlag, listed, validityFlag } from "./shared.js";

const issueFlags = {
  ...dirFlag,
  node: text("Node whose agent the certificate is for; its files are called agent-NODE."),
  name: text("Name of the certificate's files, where it is not a node's."),
  use: oneOf(["server", "client", "both"], "What the certificate is for. Required with --name."),
  cn: text("Common name of the certificate's subject. If empty, the name of its files."),
  signer: text("Signer that signs the certificate, where the set has several."),
  ip: list("IP address the certificate is for; repeatable."),
  dns: list("DNS name the certificate is for; repeatable."),
  ...validityFlag("How long the certificate is valid, at most as long as its signer. If 0, as long as the others."),
  replace: yesNo("Replace the certificate of that name."),
};

export default defineCommand({
  purpose: "Issues one more certificate into a directory whose signer's key was kept.",
  examples: ["drawbridge pki issue --dir tls --node worker-3"],
  flags: issueFlags,
  async run(flags, { given }) {
    const request = requestOf(flags, given);
    return { dir: flags.dir, ...(await addCertificate(flags.dir, request)) };
  },
  show: {
    text: ({ dir, added, manifest }) => `Issued in ${dir}:\n${listed(manifest, [added.name])}`,
    json: ({ dir, added }) => ({ dir, added }),
  },
});

function requestOf(flags: Values<typeof issueFlags>, given: ReadonlySet<string>) {
  const { node, name, use, cn, signer, ip, dns, replace } = flags;
  const common = { replace, ...(given.has("for") && { validForMs: flags.for }) };
  if (node !== "") {
    const stray = ["name", "use", "cn", "signer", "ip", "dns"].find((flag) => given.has(flag));
    if (stray) throw refused(`--${stray} does not go with --node, which says it all`);
    return { node, ...common };
  }
  if (name === "") throw missing("--node or --name is missing: whose certificate it is");
  if (use === undefined) throw missing("--use is missing: server, client or both");
  const names = { commonName: cn || name, dnsNames: dns, ipAddresses: ip };
  return { name, use, ...names, ...(given.has("signer") && { signer }), ...common };
}
