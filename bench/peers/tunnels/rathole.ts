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

/** What both ends say about how they are encrypted. */
interface Transport {
  readonly server: readonly string[];
  readonly client: readonly string[];
}

const tunnelOf = (
  about: Pick<Tunnel, "name" | "title"> & Pick<Kind, "encryption" | "authentication">,
  transport: (dir: string, server: CertFiles) => Transport,
): Tunnel => ({
  name: about.name,
  title: about.title,
  kind: {
    direction: "reverse",
    connections: "one for each caller",
    encryption: about.encryption,
    authentication: about.authentication,
    entrance: "TCP",
    targets: "one, from the configuration",
  },
  problem: () => (peerPath("rathole") ? undefined : "it is not built: run npm run peers -- rathole (needs cargo)"),
  version: () => "0.5.0",
  async start(scope, { pki, target }) {
    const dir = scope.tempDir();
    const at = (name: string) => join(dir, name);
    const [link, entrance] = (await freePorts(2)) as [number, number];
    const sides = transport(dir, pki.cluster);
    writeFileSync(
      at("server.toml"),
      [
        ...["[server]", `bind_addr = "127.0.0.1:${link}"`, `default_token = "${TOKEN}"`],
        ...sides.server,
        ...["[server.services.compared]", `bind_addr = "127.0.0.1:${entrance}"`, ""],
      ].join("\n"),
    );
    writeFileSync(
      at("client.toml"),
      [
        ...["[client]", `remote_addr = "127.0.0.1:${link}"`, `default_token = "${TOKEN}"`],
        ...sides.client,
        ...["[client.services.compared]", `local_addr = "${target.address}"`, ""],
      ].join("\n"),
    );
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
      server: [
        ...["[server.transport]", 'type = "tls"', "[server.transport.tls]"],
        ...[`pkcs12 = "${bundle}"`, `pkcs12_password = "${TOKEN}"`],
      ],
      client: [
        ...["[client.transport]", 'type = "tls"', "[client.transport.tls]"],
        ...[`trusted_root = "${ca}"`, 'hostname = "localhost"'],
      ],
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
      server: [
        ...["[server.transport]", 'type = "noise"', "[server.transport.noise]"],
        `local_private_key = "${privateKey}"`,
      ],
      client: [
        ...["[client.transport]", 'type = "noise"', "[client.transport.noise]"],
        `remote_public_key = "${publicKey}"`,
      ],
    };
  },
);
