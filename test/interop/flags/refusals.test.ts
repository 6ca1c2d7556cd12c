/** Bad command lines, given to the Go originals and to ours: the same exit code and the same sentence. */
import { describe, expect, test } from "vitest";
import { ours, type Program, theirs } from "./programs.js";

const here = import.meta.filename;
const uds = ["--uds-name=/nowhere/k.sock", "--server-port=0"];

const badCommandLines: Readonly<Record<Program, readonly (readonly string[])[]>> = {
  "proxy-server": [
    // pflag's own grammar
    ["--x"],
    ["--x=1"],
    ["---x"],
    ["--=x"],
    ["-q"],
    ["-v"],
    ["-v="],
    ["-vabc"],
    ["--server-port"],
    ["--server-port", "abc"],
    ["--server-port=99999999999999999999"],
    ["--server-port=08"],
    ["--enable-profiling=yes"],
    ["--keepalive-time=10"],
    ["--keepalive-time=1x"],
    ["--kubeconfig-qps=abc"],
    ["--help=abc"],
    // what flags must be to each other
    [],
    ["--server-key=/nope"],
    [`--server-key=${here}`],
    [`--server-cert=${here}`],
    ["--server-ca-cert=/nope"],
    [`--cluster-key=${here}`],
    ["--cluster-ca-cert=/nope"],
    ["--mode=foo"],
    ["--mode", 'a"b\n'],
    ["--uds-name=/nowhere/k.sock"],
    [...uds, `--server-cert=${here}`, `--server-key=${here}`],
    [...uds, `--server-ca-cert=${here}`],
    [...uds, "--agent-port=49152"],
    [...uds, "--admin-port=1023"],
    [...uds, "--agent-port=1", "--health-port=50000"],
    [`--server-ca-cert=${here}`, "--server-port=0"],
    [...uds, "--enable-contention-profiling"],
    [...uds, "--agent-namespace=a", `--cluster-ca-cert=${here}`],
    [...uds, "--agent-service-account=a"],
    [...uds, "--agent-namespace=a"],
    [...uds, "--agent-namespace=a", "--agent-service-account=b"],
    [...uds, "--kubeconfig=/nope"],
    [...uds, "--proxy-strategies="],
    [...uds, "--proxy-strategies=,"],
    [...uds, "--proxy-strategies=default,foo"],
    [...uds, "--xfr-channel-size=0"],
    [...uds, "--tls-min-version=TLS12"],
    [...uds, "--cipher-suites=TLS_RSA_WITH_AES_128_CBC_SHA"],
    [...uds, "--enable-lease-controller", "--lease-label="],
    [...uds, "--enable-lease-controller", "--lease-label=a=b=c"],
    [...uds, "--graceful-shutdown-timeout=-1.5s"],
    [...uds, "--backend-dial-timeout=-1ms"],
    // accepted as far as it goes: the complaint is about the mode that follows
    ["--logtostderr=true", "--log-file-max-size=0", "--log-file=/x", "-v=3", "word", "--mode=foo"],
    ["--server-port", "0x1F9A", "--kubeconfig-qps=1e2", "--delete-existing-uds-file=F", "--mode=foo"],
    ["--mode=bar", "--mode=foo", "--", "--mode=grpc"],
  ],
  "proxy-agent": [
    ["--cluster-cert"],
    ["--v"],
    ["--proxy-server-port=x"],
    ["--agent-key=/nope"],
    [`--agent-key=${here}`],
    [`--agent-cert=${here}`],
    ["--ca-cert=/nope"],
    ["--proxy-server-port=0"],
    ["--health-server-port=-1"],
    ["--admin-server-port=0"],
    ["--xfr-channel-size=0"],
    ["--enable-contention-profiling"],
    ["--sync-interval=11s"],
    ["--sync-interval=1h", "--sync-interval-cap=1.5s"],
    ["--service-account-token-path=/nope"],
    ["--agent-identifiers=uid=3"],
    ["--agent-identifiers=a;b"],
    ["--agent-identifiers=ipv4=%zz"],
    ["--kubeconfig=/nope"],
    ["--server-count-source=x"],
    ["--alpn-proto=[]", "--lease-label=a=b", "--keepalive-time=30s", "--server-count-source=x"],
  ],
};

describe.each(["proxy-server", "proxy-agent"] as const)("%s", (program) => {
  const original = theirs(program);

  test.skipIf(!original).each(badCommandLines[program].map((argv) => ({ argv })))("$argv", ({ argv }) => {
    const their = original?.(...argv);
    const our = ours(program)(...argv);
    const sentence = /^Error: (?:.|\n)*?(?=\nUsage:\n)/m.exec(their?.stderr ?? "")?.[0];
    expect(sentence).toBeDefined();
    expect(our.stderr.slice(0, sentence?.length)).toBe(sentence);
    expect(our).toMatchObject({ status: their?.status, stdout: "" });
    expect(our.status).toBe(1);
  });
});

/** Where ours refuses what the original accepts, or fails later over. Each is told in docs/compatibility.md. */
describe("deliberate refusals", () => {
  test.each<[Program, string[], string]>([
    ["proxy-agent", ["--proxy-server-host="], "proxy server host cannot be empty"],
    ["proxy-agent", [], "--ca-cert must be set"],
    ["proxy-server", uds, "--cluster-cert and --cluster-key must be set"],
    ["proxy-server", [...uds, `--cluster-cert=${here}`, `--cluster-key=${here}`], "anyone could become an agent"],
  ])("%s %j", (program, argv, message) => {
    const { status, stdout, stderr } = ours(program)(...argv);
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
    expect(stderr).toContain(message);
    expect(stderr.trimEnd().split("\n")).toHaveLength(1);
  });
});
