import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { peerPath } from "../../../peers/index.js";
import type { CertFiles } from "../../../test/support/processes/certs.js";
import { waitUntil } from "../../../test/support/processes/deadline.js";
import { freePorts, portOpen } from "../../../test/support/processes/ports.js";
import { startProcess } from "../../../test/support/processes/process.js";
import { Ends } from "../ends.js";
import type { Kind, Tunnel } from "../tunnel.js";

const TOKEN = "only-for-this-measurement";

/** How the ends encrypt: the type that both name, and what each says about it. */
interface Transport {
  readonly type: "tls" | "noise";
  readonly server: Readonly<Record<string, string>>;
  readonly client: Readonly<Record<string, string>>;
}

/** A table of a TOML file. */
const section = (name: string, values: Readonly<Record<string, string>>): string =>
  [`[${name}]`, ...Object.entries(values).map(([key, value]) => `${key} = "${value}"`), ""].join("\n");

const tunnelOf = (
  { name, title, ...proofs }: Pick<Tunnel, "name" | "title"> & Pick<Kind, "encryption" | "authentication">,
  transport: (dir: string, server: CertFiles) => Transport,
): Tunnel => ({
  name,
  title,
  kind: {
    direction: "reverse",
    connections: "one for each caller",
    ...proofs,
    entrance: "TCP",
    targets: "one, from the configuration",
  },
  problem: () => (peerPath("rathole") ? undefined : "it is not built: run npm run peers -- rathole (needs cargo)"),
  version: () => "0.5.0",
  async start(scope, { pki, target }) {
    const dir = scope.tempDir();
    const at = (name: string) => join(dir, name);
    const [link, entrance] = (await freePorts(2)) as [number, number];
    const { type, ...about } = transport(dir, pki.cluster);
    const configure = (side: "server" | "client", own: Record<string, string>, service: Record<string, string>) =>
      writeFileSync(
        at(`${side}.toml`),
        [
          section(side, { ...own, default_token: TOKEN }),
          section(`${side}.transport`, { type }),
          section(`${side}.transport.${type}`, about[side]),
          section(`${side}.services.compared`, service),
        ].join(""),
      );
    configure("server", { bind_addr: `127.0.0.1:${link}` }, { bind_addr: `127.0.0.1:${entrance}` });
    configure("client", { remote_addr: `127.0.0.1:${link}` }, { local_addr: target.address });
    const part = (side: "server" | "client") => ({
      name: `rathole ${side}`,
      command: peerPath("rathole")!,
      args: [`--${side}`, at(`${side}.toml`)],
      // Its log has a line for every connection.
      env: { RUST_LOG: "error" },
    });
    const server = scope.use(startProcess(part("server")));
    await server.untilReady("it listened", () => waitUntil("rathole to listen", () => portOpen(link)));
    const route = { frontend: "direct", address: `127.0.0.1:${entrance}`, target: target.address } as const;
    return scope.use(await Ends.start(route, server, part("client")));
  },
});

export const ratholeTls = tunnelOf(
  {
    name: "rathole-tls",
    title: "rathole, TLS",
    encryption: "TLS 1.2, ChaCha20-Poly1305 (its own choice)",
    authentication: "certificate of the near end, token",
  },
  (dir, { ca, cert, key }) => {
    const bundle = join(dir, "server.p12");
    execFileSync("openssl", [
      ...["pkcs12", "-export", "-in", cert, "-inkey", key, "-out", bundle, "-passout", `pass:${TOKEN}`],
    ]);
    return {
      type: "tls",
      server: { pkcs12: bundle, pkcs12_password: TOKEN },
      client: { trusted_root: ca, hostname: "localhost" },
    };
  },
);

export const ratholeNoise = tunnelOf(
  {
    name: "rathole-noise",
    title: "rathole, Noise",
    encryption: "Noise NK, ChaCha20-Poly1305",
    authentication: "key of the near end, token",
  },
  () => {
    const said = execFileSync(peerPath("rathole")!, ["--genkey"], { encoding: "utf8" });
    const [privateKey, publicKey] = [...said.matchAll(/^(\S{43}=)$/gm)].map(([, key]) => key);
    return {
      type: "noise",
      server: { local_private_key: privateKey! },
      client: { remote_public_key: publicKey! },
    };
  },
);
