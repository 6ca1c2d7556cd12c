import { execFileSync } from "node:child_process";
import { basename, dirname, join } from "node:path";

/** PEM files of one identity and of the authority that its peer is checked against. */
export interface CertFiles {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** Two authorities, as in a real deployment: what opens the callers' frontend opens nothing on the agents' side. */
export interface TestPki {
  /** The agent listener's certificate; its `ca` signs agents. */
  readonly cluster: CertFiles;
  readonly agent: CertFiles;
  /** The TCP frontend's certificate; its `ca` signs callers. */
  readonly frontend: CertFiles;
  readonly caller: CertFiles;
  /** A webhook behind the tunnel. */
  readonly webhook: CertFiles;
  /** A client certificate of an authority nobody trusts; its `ca` is the frontend's, so that only we are refused. */
  readonly stranger: CertFiles;
}

const LOOPBACK_NAMES = "subjectAltName=DNS:localhost,IP:127.0.0.1,IP:::1";

/** Made with openssl on purpose: an implementation that is not ours, so that both check each other. */
export function makePki(dir: string): TestPki {
  const clusterCa = authority(dir, "cluster-ca");
  const frontendCa = authority(dir, "frontend-ca");
  const strangerCa = authority(dir, "stranger-ca");
  return {
    cluster: issue(dir, "cluster", clusterCa, "serverAuth"),
    agent: issue(dir, "agent", clusterCa, "clientAuth"),
    frontend: issue(dir, "frontend", frontendCa, "serverAuth"),
    caller: issue(dir, "caller", frontendCa, "clientAuth"),
    webhook: issue(dir, "webhook", clusterCa, "serverAuth"),
    stranger: { ...issue(dir, "stranger", strangerCa, "clientAuth"), ca: frontendCa.cert },
  };
}

/** A caller's of the right authority, but good until yesterday only. */
export function endedCaller({ caller }: TestPki): CertFiles {
  const at = (name: string) => join(dirname(caller.cert), name);
  const own = { cert: at("ended-own.pem"), key: at("ended.key") };
  // Only what it signed itself lets openssl sign again, with a time that has passed.
  request(basename(caller.cert, ".pem"), own, [...extensionsFor("clientAuth"), "authorityKeyIdentifier=none"]);
  const signer = ["-CA", caller.ca, "-CAkey", caller.ca.replace(/\.pem$/, ".key")];
  openssl(["x509", "-in", own.cert, ...signer, "-days", "-1", "-out", at("ended.pem")]);
  return { ca: caller.ca, cert: at("ended.pem"), key: own.key };
}

interface Authority {
  readonly cert: string;
  readonly key: string;
}

function authority(dir: string, name: string): Authority {
  const files = { cert: join(dir, `${name}.pem`), key: join(dir, `${name}.key`) };
  request(name, files, ["basicConstraints=critical,CA:TRUE", "keyUsage=critical,keyCertSign,cRLSign"]);
  return files;
}

function issue(dir: string, name: string, ca: Authority, usage: "serverAuth" | "clientAuth"): CertFiles {
  const files = { cert: join(dir, `${name}.pem`), key: join(dir, `${name}.key`) };
  request(name, files, extensionsFor(usage), ca);
  return { ...files, ca: ca.cert };
}

const extensionsFor = (usage: "serverAuth" | "clientAuth"): string[] => [
  ...["basicConstraints=critical,CA:FALSE", "keyUsage=critical,digitalSignature", `extendedKeyUsage=${usage}`],
  ...(usage === "serverAuth" ? [LOOPBACK_NAMES] : []),
];

function request(name: string, files: Authority, extensions: readonly string[], signer?: Authority): void {
  const args = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1"];
  args.push("-keyout", files.key, "-out", files.cert, "-subj", `/CN=drawbridge-test-${name}`);
  args.push(...extensions.flatMap((extension) => ["-addext", extension]));
  if (signer) args.push("-CA", signer.cert, "-CAkey", signer.key);
  openssl(args);
}

function openssl(args: readonly string[]): void {
  execFileSync("openssl", args, { stdio: ["ignore", "ignore", "pipe"] });
}
