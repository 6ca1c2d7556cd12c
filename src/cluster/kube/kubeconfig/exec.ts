/** Credentials from the program that a kubeconfig names (client.authentication.k8s.io). */
import { spawn } from "node:child_process";
import { at, isRecord } from "../../../base/at.js";
import { type Clock, systemClock } from "../../../base/clock.js";
import { messageOf } from "../../../base/errors/error.js";
import { configError, type KubeTls } from "../endpoint.js";
import type { ExecConfig, KubeconfigCluster } from "./document.js";

interface ExecCredentials {
  readonly authorization?: string | undefined;
  readonly tls: KubeTls;
}

/** A person may have to log in, for example in a browser. */
const LONGEST_MS = 300_000;
const LONGEST_ANSWER = 1024 * 1024;
const EXEC_EXTENSION = "client.authentication.k8s.io/exec";

/** Answers are kept until they expire or are refused; one without an expiry is kept for the life of the process, as kubectl keeps it. */
export function execCredentials(exec: ExecConfig, cluster: KubeconfigCluster, clock: Clock = systemClock) {
  let kept: { readonly credentials: ExecCredentials; readonly until: number } | undefined;
  return async (areRefused = false): Promise<ExecCredentials> => {
    if (kept === undefined || areRefused || clock.date() >= kept.until) {
      kept = undefined;
      kept = readAnswer(exec, await run(exec, cluster));
    }
    return kept.credentials;
  };
}

function failed({ command, installHint }: ExecConfig, why: string, cause?: unknown): Error {
  const hint = (cause as NodeJS.ErrnoException | undefined)?.code === "ENOENT" && installHint ? ` ${installHint}` : "";
  return configError(`The credential plugin ${command} failed: ${why}.${hint}`, cause);
}

function run(exec: ExecConfig, cluster: KubeconfigCluster): Promise<string> {
  const interactive = exec.interactiveMode !== "Never" && process.stdin.isTTY === true;
  if (exec.interactiveMode === "Always" && !interactive) {
    throw failed(exec, "it has to ask a person, and standard input is not a terminal");
  }
  return new Promise((resolve, reject) => {
    const child = spawn(exec.command, exec.args ?? [], {
      // Its messages to a person go straight to the terminal.
      stdio: [interactive ? "inherit" : "ignore", "pipe", "pipe"],
      env: {
        ...process.env,
        ...Object.fromEntries((exec.env ?? []).map(({ name, value }) => [name, value])),
        KUBERNETES_EXEC_INFO: JSON.stringify(execInfo(exec, cluster, interactive)),
      },
      timeout: LONGEST_MS,
    });
    let answer = "";
    let complaint = "";
    child.stdout!.setEncoding("utf8").on("data", (text: string) => {
      answer += text;
      if (answer.length > LONGEST_ANSWER) child.kill("SIGKILL");
    });
    child.stderr!.setEncoding("utf8").on("data", (text: string) => {
      complaint = (complaint + text).slice(-2000);
      if (interactive) process.stderr.write(text);
    });
    child.once("error", (reason) => reject(failed(exec, messageOf(reason), reason)));
    child.once("close", (code, signal) => {
      const end = code === null ? `it was ended by ${signal}` : `exit code ${code}`;
      if (code === 0) resolve(answer);
      else reject(failed(exec, complaint.trim() || end));
    });
  });
}

function execInfo(exec: ExecConfig, cluster: KubeconfigCluster, interactive: boolean): object {
  const { server, extensions } = cluster;
  const info = {
    server,
    "tls-server-name": cluster["tls-server-name"],
    "insecure-skip-tls-verify": cluster["insecure-skip-tls-verify"],
    "certificate-authority-data": cluster["certificate-authority-data"],
    "proxy-url": cluster["proxy-url"],
    config: extensions?.find(({ name }) => name === EXEC_EXTENSION)?.extension,
  };
  return {
    apiVersion: exec.apiVersion,
    kind: "ExecCredential",
    spec: { interactive, ...(exec.provideClusterInfo === true ? { cluster: info } : {}) },
  };
}

function readAnswer(exec: ExecConfig, text: string): { credentials: ExecCredentials; until: number } {
  const status = readStatus(exec, text);
  const field = (name: string) => {
    const value = at(status, name);
    return typeof value === "string" && value !== "" ? value : undefined;
  };
  const [token, cert, key] = [field("token"), field("clientCertificateData"), field("clientKeyData")];
  if ((cert === undefined) !== (key === undefined))
    throw failed(exec, "it gave a certificate or a key without the other");
  if (token === undefined && cert === undefined) throw failed(exec, "it gave neither a token nor a certificate");
  const end = field("expirationTimestamp");
  return {
    credentials: { authorization: token && `Bearer ${token}`, tls: cert === undefined ? {} : { cert, key } },
    until: end === undefined ? Number.POSITIVE_INFINITY : Date.parse(end) || 0,
  };
}

function readStatus(exec: ExecConfig, text: string): unknown {
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch {
    // The parser's words would quote the answer, which holds credentials.
    throw failed(exec, "what it printed is not JSON");
  }
  const [kind, version, status] = [at(answer, "kind"), at(answer, "apiVersion"), at(answer, "status")];
  if (kind !== "ExecCredential") throw failed(exec, "what it printed is not an ExecCredential");
  if (version !== exec.apiVersion)
    throw failed(exec, `it answered in ${JSON.stringify(version)}, not in ${JSON.stringify(exec.apiVersion)}`);
  if (!isRecord(status)) throw failed(exec, "its answer has no status");
  return status;
}
