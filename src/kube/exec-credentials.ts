import type { RequestOptions } from "node:https";
import type { User } from "@kubernetes/client-node/dist/config_types.js";
import { messageOf } from "../errors/error.js";
import { configError } from "./config-file.js";
import type { KubeTls } from "./endpoint.js";

export interface ExecCredentials {
  readonly authorization?: string;
  readonly tls: KubeTls;
}

/** Credentials from the program a kubeconfig names. Its answers are kept until they expire. */
export function execCredentials(user: User): () => Promise<ExecCredentials> {
  let plugin: Promise<{ applyAuthentication(user: User, options: RequestOptions): Promise<void> }> | undefined;
  return async () => {
    plugin ??= import("@kubernetes/client-node/dist/exec_auth.js").then(({ ExecAuth }) => new ExecAuth());
    const options: RequestOptions & { headers: Record<string, string> } = { headers: {} };
    try {
      await (await plugin).applyAuthentication(withExecInfo(user), options);
    } catch (reason) {
      const command: unknown = user.exec?.command;
      throw configError(`The credential plugin ${String(command)} failed: ${messageOf(reason).trim()}`, reason);
    }
    const authorization = options.headers.Authorization;
    return {
      ...(authorization === undefined ? {} : { authorization }),
      tls: {
        ...(typeof options.cert === "string" ? { cert: options.cert } : {}),
        ...(typeof options.key === "string" ? { key: options.key } : {}),
      },
    };
  };
}

/** Plugins read from this variable which version of the API they are spoken to in; the package does not set it. */
function withExecInfo(user: User): User {
  const info = { apiVersion: user.exec.apiVersion, kind: "ExecCredential", spec: { interactive: false } };
  const env = [...(user.exec.env ?? []), { name: "KUBERNETES_EXEC_INFO", value: JSON.stringify(info) }];
  return { ...user, exec: { ...user.exec, env } };
}
