/** The pointer config that a machine gets at first boot: the address of its configuration, the authority to trust, and its token. */
import { DrawbridgeError } from "../../../base/errors/error.js";
import { kubeManifest } from "../../kube/builders.js";
import { type EffectiveProxy, goJson, omitEmpty } from "../hash/pool-hash.js";
import {
  annotation,
  encoded,
  type ObjectName,
  pathOf,
  type Secret,
  secretText,
  userDataSecretName,
} from "../objects.js";
import { usableToken } from "./token-secret.js";

interface UserDataContent {
  readonly pool: ObjectName;
  readonly hash: string;
  readonly token: string;
  /** `host` or `host:port`, as published. */
  readonly ignitionEndpoint: string;
  readonly ignitionCaPem: string;
  readonly proxy?: EffectiveProxy | undefined;
}

/** The pointer config. Members in HyperShift's order. */
export function userData(content: UserDataContent): string {
  const { pool, hash, token, ignitionEndpoint, ignitionCaPem, proxy } = content;
  return goJson({
    ignition: {
      config: {
        merge: [
          {
            httpHeaders: [
              { name: "Authorization", value: `Bearer ${encoded(usableToken(token))}` },
              { name: "NodePool", value: pathOf(pool) },
              { name: "TargetConfigVersionHash", value: hash },
            ],
            source: `https://${ignitionEndpoint}/ignition`,
          },
        ],
      },
      proxy: proxy && {
        httpProxy: proxy.httpProxy,
        httpsProxy: proxy.httpsProxy,
        noProxy: omitEmpty(proxy.noProxy),
      },
      security: {
        tls: { certificateAuthorities: [{ source: `data:text/plain;base64,${encoded(ignitionCaPem)}` }] },
      },
      version: "3.2.0",
    },
  });
}

export function makeUserDataSecret(namespace: string, content: UserDataContent): Secret {
  const name = userDataSecretName(content.pool.name, content.hash);
  const metadata = { name, namespace, annotations: { [annotation.nodePool]: pathOf(content.pool) } };
  // The first is encoded twice: machine controllers decode it once more.
  const data = { disableTemplating: encoded(encoded("true")), value: encoded(userData(content)) };
  return kubeManifest("Secret", metadata, { type: "Opaque", immutable: false, data });
}

/** The Secret with the wanted pointer config; undefined when it has that already. */
export function refreshUserDataSecret(secret: Secret, content: UserDataContent): Secret | undefined {
  const wanted = makeUserDataSecret(secret.metadata?.namespace ?? "", content).data ?? {};
  const keys = Object.keys(wanted);
  if (keys.every((key) => secret.data?.[key] === wanted[key])) return undefined;
  return { ...secret, data: { ...secret.data, ...wanted } };
}

/** The pointer config to hand to a machine, as it is. */
export function readUserData(secret: Secret): string {
  const value = secretText(secret, "value");
  if (!value) {
    const { namespace, name } = secret.metadata ?? {};
    throw new DrawbridgeError(
      "DB_TOKEN_SECRET",
      `the Secret ${namespace}/${name} has no user data under the key value`,
    );
  }
  return value;
}
