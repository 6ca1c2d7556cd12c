/** `drawbridge pki inspect`: what certificates are, what is wrong, what to do. */

import { basename } from "node:path";
import { hasFailed } from "../../base/finding.js";
import { roughDuration } from "../../base/text.js";
import { findingsText } from "../../insight/diagnosis/report.js";
import { type InspectedCertificate, type InspectionReport, inspectPath } from "../../tunnel/pki/inspect/inspect.js";
import { list, text } from "../flags/flag.js";
import { missing } from "../flags/parse.js";
import { defineCommand } from "../framework/define.js";

export default defineCommand({
  purpose: "Says what certificates are, what is wrong and what to do. Ends with 1 when something is wrong.",
  words: "FILE|DIR...",
  examples: ["drawbridge pki inspect tls --address 10.0.0.5"],
  flags: {
    address: text("Address at which agents dial the server; the server's certificate must be for it."),
    ca: list("File with further authorities to check chains against; repeatable."),
  },
  async run({ address, ca }, { words: paths }) {
    if (paths.length === 0) throw missing("name a certificate file or a directory to inspect");
    const options = { caFiles: ca, now: new Date(), ...(address !== "" && { address }) };
    const reports: InspectionReport[] = [];
    for (const path of paths) reports.push(await inspectPath(path, options));
    return { ok: !reports.some(({ findings }) => hasFailed(findings)), reports };
  },
  show: ({ reports }) => reports.map((report) => reportText(report, new Date())).join("\n"),
  exitCode: ({ ok }) => (ok ? 0 : 1),
});

function reportText({ path, set, certificates, findings }: InspectionReport, now: Date): string {
  const kept = set?.signerKeysKept ? ", signer's key kept" : "";
  const head = set === undefined ? path : `${path} (${set.profile}, made ${set.madeAt}${kept})`;
  return [
    `${head}\n`,
    ...certificates.map((certificate) => certificateText(certificate, now)),
    certificates.length === 0 ? "\n  no certificate here\n" : "",
    findings.length === 0 ? "\nNothing is wrong.\n" : `\n${findingsText(findings)}`,
  ].join("");
}

function certificateText(certificate: InspectedCertificate, now: Date): string {
  const { file, use, subject, chain, issuer, names, usages, mode, fipsObjection, isAuthority, pathLength } =
    certificate;
  const limit = pathLength === undefined ? "" : `, path length ${pathLength}`;
  const rows: [string, string][] = [
    ["subject", subject],
    ["chain", chain === undefined ? `does not verify; issuer is ${issuer}` : chain.join(" < ")],
    ["for", names.join(", ") || "no address"],
    ["usage", usages?.join(", ") ?? (isAuthority ? `signs certificates${limit}` : "any")],
    ["valid", validity(certificate, now)],
    ["key", keyText(certificate)],
    ["FIPS", fipsObjection === undefined ? "acceptable" : `refused: ${fipsObjection}`],
  ];
  const shown = rows.filter(([name, text]) => name !== "for" || text !== "no address" || use === "server");
  return [
    `\n  ${basename(file)} (${use ?? (isAuthority ? "signer" : "unknown use")}, mode ${mode})\n`,
    ...shown.map(([name, text]) => `    ${name.padEnd(8)}${text}\n`),
  ].join("");
}

function validity({ notBefore, notAfter }: InspectedCertificate, now: Date): string {
  const [start, end] = [notBefore.getTime() - now.getTime(), notAfter.getTime() - now.getTime()];
  const state =
    end <= 0
      ? `expired ${roughDuration(-end)} ago`
      : start > 0
        ? `starts in ${roughDuration(start)}`
        : `ends in ${roughDuration(end)}`;
  return `${state} (${notBefore.toISOString()} to ${notAfter.toISOString()})`;
}

function keyText({ key, signatureHash, keyFile, keyMatches, keyMode }: InspectedCertificate): string {
  const own =
    keyFile === undefined
      ? "private key not here"
      : `${basename(keyFile)} (mode ${keyMode}) ${keyMatches ? "belongs to it" : "does NOT belong to it"}`;
  return `${key}, signed with ${signatureHash}; ${own}`;
}
