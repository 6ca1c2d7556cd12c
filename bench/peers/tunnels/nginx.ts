import { spawnSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { lacking, program, programPath, saidVersion } from "../programs.js";
import { SUITE, twice } from "./forward.js";

const PACKAGES = "nginx-core and libnginx-mod-stream";

export const nginx = twice(
  {
    name: "nginx",
    title: "nginx stream twice",
    problem: () =>
      lacking(PACKAGES, "nginx") ??
      (stream() === undefined ? `it has no stream module: install ${PACKAGES}` : undefined),
    version: () => saidVersion("nginx", "-v", /nginx\/(\S+)/),
  },
  ({ dir, pki, socket, link, target }) => {
    const hop = (name: string, lines: readonly string[]) => {
      const file = join(dir, `${name}.conf`);
      writeFileSync(
        file,
        [
          stream() ?? "",
          ...["daemon off;", `pid ${join(dir, `${name}.pid`)};`, "error_log stderr error;", "worker_processes auto;"],
          ...["worker_rlimit_nofile 16384;", "events { worker_connections 10000; }"],
          ...["stream {", "proxy_timeout 1h;", "server {", ...lines, "}", "}", ""],
        ].join("\n"),
      );
      const args = ["-e", "stderr", "-p", dir, "-c", file];
      return { name: `nginx, ${name} end`, command: programPath("nginx"), args };
    };
    const { agent, cluster } = pki;
    return {
      near: hop("near", [
        ...[`listen unix:${socket};`, `proxy_pass ${link};`, "proxy_ssl on;", "proxy_ssl_protocols TLSv1.3;"],
        ...[`proxy_ssl_conf_command Ciphersuites ${SUITE};`, `proxy_ssl_certificate ${agent.cert};`],
        ...[`proxy_ssl_certificate_key ${agent.key};`, `proxy_ssl_trusted_certificate ${agent.ca};`],
        ...["proxy_ssl_verify on;", "proxy_ssl_name localhost;", "proxy_ssl_server_name on;"],
      ]),
      far: hop("far", [
        ...[`listen ${link} ssl;`, `proxy_pass ${target};`, "ssl_protocols TLSv1.3;"],
        ...[`ssl_conf_command Ciphersuites ${SUITE};`, `ssl_certificate ${cluster.cert};`],
        ...[`ssl_certificate_key ${cluster.key};`, `ssl_client_certificate ${cluster.ca};`, "ssl_verify_client on;"],
      ]),
    };
  },
);

/** The line that loads the module: none where it is compiled in, undefined where there is none. */
function stream(): string | undefined {
  const path = program("nginx");
  if (path === undefined) return undefined;
  const { stderr } = spawnSync(path, ["-V"], { encoding: "utf8" });
  if (/--with-stream(\s|$)/.test(stderr)) return "";
  const module = join(/--modules-path=(\S+)/.exec(stderr)?.[1] ?? "", "ngx_stream_module.so");
  return existsSync(module) ? `load_module ${module};` : undefined;
}
