import { execFileSync } from "node:child_process";
import { join } from "node:path";

/** PEM files of one identity and of the authority that its peer is checked against. */
export interface CertFiles {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** Two authorities, as in a real deployment: what opens the callers' door opens nothing on the agents' side. */
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
  const extensions = ["basicConstraints=critical,CA:FALSE", "keyUsage=critical,digitalSignature"];
  extensions.push(`extendedKeyUsage=${usage}`);
  if (usage === "serverAuth") extensions.push(LOOPBACK_NAMES);
  request(name, files, extensions, ca);
  return { ...files, ca: ca.cert };
}

function request(name: string, files: Authority, extensions: readonly string[], signer?: Authority): void {
  const args = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1"];
  args.push("-keyout", files.key, "-out", files.cert, "-subj", `/CN=drawbridge-test-${name}`);
  args.push(...extensions.flatMap((extension) => ["-addext", extension]));
  if (signer) args.push("-CA", signer.cert, "-CAkey", signer.key);
  execFileSync("openssl", args, { stdio: ["ignore", "ignore", "pipe"] });
}
