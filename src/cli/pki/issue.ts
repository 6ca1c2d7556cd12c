/** `drawbridge pki issue`: one more certificate from a kept signer. */
import { choice } from "../flags/choice.js";
import type { FlagSet } from "../flags/flag-set.js";
import { boolean, string, stringSlice } from "../flags/flag-value.js";
import {
  addDir,
  addFor,
  addOutput,
  lifetimeMs,
  listed,
  refused,
  refuseWords,
  requiredDir,
  runPkiCommand,
} from "./flags.js";

type IssueFlags = ReturnType<typeof declare>;

function declare(set: FlagSet) {
  return {
    dir: addDir(set),
    node: set.add("node", string, "", "Issue the agent's certificate of this node, as agent-NODE."),
    name: set.add("name", string, "", "Name of the files, where it is not a node's."),
    use: set.add("use", choice("server", "client", "both"), undefined, "What the certificate is for."),
    commonName: set.add("cn", string, "", "Common name of the subject. If empty, the files' name."),
    signer: set.add("signer", string, "", "Which signer signs, where the set has several."),
    ip: set.add("ip", stringSlice, [], "IP address the certificate is for."),
    dns: set.add("dns", stringSlice, [], "DNS name the certificate is for."),
    for: addFor(set, "How long it lives, at most as long as its signer. If empty, as long as the others were given."),
    replace: set.add("replace", boolean, false, "Put it in place of one of that name."),
    output: addOutput(set),
  };
}

export function pkiIssue(program: string, argv: readonly string[]): Promise<number> {
  const purpose = "Issues one more certificate into a directory whose signer's key was kept.";
  return runPkiCommand(program, argv, { purpose, declare, run });
}

async function run(flags: IssueFlags, words: readonly string[]): Promise<number> {
  refuseWords(words);
  const dir = requiredDir(flags.dir);
  const request = requestOf(flags);
  const { addCertificate } = await import("../../tunnel/pki/add-certificate.js");
  const { added, manifest } = await addCertificate(dir, request);
  if (flags.output.value === "json") process.stdout.write(`${JSON.stringify({ dir, added }, null, 2)}\n`);
  else process.stdout.write(`Issued in ${dir}:\n${listed(manifest, [added.name])}`);
  return 0;
}

function requestOf(flags: IssueFlags) {
  const { node, name, use, commonName, signer, ip, dns, replace } = flags;
  const validForMs = lifetimeMs(flags.for);
  const common = { replace: replace.value, ...(validForMs !== undefined && { validForMs }) };
  if (node.value !== "") {
    const stray = [name, use, commonName, signer, ip, dns].find(({ changed }) => changed);
    if (stray) throw refused(`--${stray.name} does not go with --node, which says it all`);
    return { node: node.value, ...common };
  }
  if (name.value === "") throw refused("--node or --name is missing: whose certificate it is");
  if (use.value === undefined) throw refused("--use is missing: server, client or both");
  return {
    name: name.value,
    use: use.value,
    commonName: commonName.value || name.value,
    dnsNames: dns.value,
    ipAddresses: ip.value,
    ...(signer.changed && { signer: signer.value }),
    ...common,
  };
}
