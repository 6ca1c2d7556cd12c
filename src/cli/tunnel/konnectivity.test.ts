/** The command lines that HyperShift writes, and what they mean. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { httpsProxyCommand, socks5ProxyCommand } from "./konnectivity.js";

const kubeconfig = "/etc/kubernetes/secrets/kubeconfig/kubeconfig";

function parsed(command: Pick<typeof socks5ProxyCommand, "parse">, ...argv: string[]) {
  const invocation = command.parse(argv, { KUBECONFIG: kubeconfig }, "proxy");
  if (invocation.help !== undefined) throw new Error("help was printed");
  const { config, logging } = invocation.config;
  const { warnings } = invocation;
  const [listener] = config.listeners;
  return { config, logging, warnings, listener: listener!, routing: listener!.routing };
}

describe("konnectivity-socks5-proxy", () => {
  test("run", () => {
    const { config, listener, routing, logging, warnings } = parsed(socks5ProxyCommand, "run");
    expect(listener).toMatchObject({ protocol: "socks5", address: { host: "", port: 8090 } });
    expect(routing).toMatchObject({
      frontends: [{ mode: "http-connect", host: "konnectivity-server-local", port: 8090 }],
      resolve: ["services", "local"],
      preferIpv4: false,
      kubeconfig,
      fallbackDirect: false,
      cloudBypass: false,
      own: [{ host: "", port: 8090 }],
    });
    expect(config.health).toBeUndefined();
    expect([logging.format, warnings]).toEqual(["json", []]);
  });

  test.each([
    [["--disable-resolver=true"], ["agent"], false],
    [["--disable-resolver", "--resolve-from-guest-cluster-dns=true"], ["agent"], false],
    [["--resolve-from-guest-cluster-dns=true"], ["services", "cluster-dns"], false],
    [
      ["--resolve-from-guest-cluster-dns", "--resolve-from-management-cluster-dns"],
      ["services", "cluster-dns", "agent"],
      true,
    ],
    [["--resolve-from-management-cluster-dns=true"], ["services", "local"], false],
  ])("%j", (argv, order, direct) => {
    const { routing } = parsed(socks5ProxyCommand, "run", ...argv);
    expect([routing.resolve, routing.fallbackDirect]).toEqual([order, direct]);
  });

  test("one dash does, as it does for HyperShift's", () => {
    const argv = ["run", "-serving-port=1", "-disable-resolver", "-v=4"];
    const { listener, routing, logging } = parsed(socks5ProxyCommand, ...argv);
    expect(listener).toMatchObject({ address: { port: 1 } });
    expect([routing.resolve, logging.verbosity]).toEqual([["agent"], 4]);
    expect(() => parsed(socks5ProxyCommand, "-servingport=1")).toThrow("unknown shorthand flag: 's' in -servingport=1");
  });

  test("tells every violation at once", () => {
    const argv = ["run", "--ca-cert-path=", "--tls-key-path=", "--konnectivity-hostname=", "--konnectivity-port=0"];
    expect(() => parsed(socks5ProxyCommand, ...argv)).toThrow(
      "failed validation: --ca-cert-path is required; --tls-key-path is required; --konnectivity-hostname is required; " +
        "--konnectivity-port must be from 1 to 65535, got 0",
    );
  });

  test.each([-1, 65_536, 4_294_967_296])("refuses port %i", (port) => {
    expect(() => parsed(socks5ProxyCommand, `--serving-port=${port}`)).toThrow(
      `--serving-port must be from 1 to 65535, got ${port}`,
    );
  });
});

describe("konnectivity-https-proxy", () => {
  test("as oauth-openshift runs it, with a customer's proxy", () => {
    const { listener, routing, warnings } = parsed(
      httpsProxyCommand,
      ...["run", "--http-proxy", "", "--https-proxy", "http://u:p@proxy.example:3128", "--no-proxy", ".svc,10.0.0.0/8"],
      ...["--serving-port=8092", "--connect-directly-to-cloud-apis=true", "--prefer-ipv4=true"],
    );
    expect(listener).toMatchObject({ protocol: "http", address: { host: "", port: 8092 } });
    expect(routing).toMatchObject({
      resolve: ["services", "cluster-dns"],
      preferIpv4: true,
      kubeconfig,
      fallbackDirect: false,
      cloudBypass: true,
      httpProxy: "",
      httpsProxy: "http://u:p@proxy.example:3128",
      noProxy: ".svc,10.0.0.0/8",
    });
    expect(warnings).toEqual([]);
  });

  test("reads the customer's proxies from files, so that no list of processes has their passwords", () => {
    const dir = mkdtempSync(join(tmpdir(), "drawbridge-konnectivity-"));
    try {
      writeFileSync(join(dir, "httpProxy"), "");
      writeFileSync(join(dir, "httpsProxy"), "http://u:p@proxy.example:3128\n");
      const argv = ["run", "--http-proxy", `file:${dir}/httpProxy`, "--https-proxy", `file:${dir}/httpsProxy`];
      expect(parsed(httpsProxyCommand, ...argv).routing).toMatchObject({
        httpProxy: "",
        httpsProxy: "http://u:p@proxy.example:3128",
      });
    } finally {
      rmSync(dir, { recursive: true });
    }
    expect(() => parsed(httpsProxyCommand, "--https-proxy=file:/nowhere/url")).toThrow(
      "failed validation: --https-proxy names a file that cannot be read",
    );
  });

  test("does not know what belongs to the other one", () => {
    expect(() => parsed(httpsProxyCommand, "--disable-resolver")).toThrow("unknown flag: --disable-resolver");
  });
});
