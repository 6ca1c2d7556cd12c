import { describe, expect, test } from "vitest";
import { canonicalAddress, parseHost } from "../wire/destination.js";
import { DestinationPolicy } from "./policy.js";

/** Dialled by address: the host is the address. */
const permits = (policy: DestinationPolicy, address: string, port = 443, host = address) =>
  policy.refusal(parseHost(host)!, canonicalAddress(address)!, port) === undefined;

describe("a destination policy without rules", () => {
  const policy = new DestinationPolicy([], []);

  test.each(["10.0.0.1", "127.0.0.1", "fd00::1", "169.254.1.1", "169.254.169.253"])("%s is allowed", (address) => {
    expect(permits(policy, address)).toBe(true);
  });

  test.each([
    "169.254.169.254",
    "168.63.129.16",
    "fd00:ec2::254",
    "fd00:0ec2:0::254",
    "FD00:EC2:0:0:0:0:0:254",
    "::ffff:169.254.169.254",
    "::ffff:a9fe:a9fe",
    "fd00:ec2::254%eth0",
    "fd00:ec2::254%1",
    "fd00:ec2::23",
    "fd20:ce::254",
    "fe80::a9fe:a9fe%eth0",
    "169.254.170.2",
    "169.254.170.23",
    "64:ff9b::169.254.169.254",
    "64:ff9b:1::a9fe:a9fe",
    "::ffff:0:169.254.169.254",
    "::169.254.169.254",
    "2002:a9fe:a9fe::1",
  ])("the metadata address %s is not", (address) => {
    expect(permits(policy, address)).toBe(false);
    expect(permits(policy, address, 80, "innocent.example")).toBe(false);
  });
});

describe("destination rules", () => {
  const cases: [allow: string[], deny: string[], address: string, port: number, host: string, expected: boolean][] = [
    [["10.0.0.0/8"], [], "10.1.2.3", 443, "x", true],
    [["10.0.0.0/8"], [], "11.1.2.3", 443, "x", false],
    [["10.0.0.0/8"], [], "::ffff:10.1.2.3", 443, "x", true],
    [["10.0.0.0/8"], [], "fd00::1", 443, "x", false],
    [["10.0.0.0/8:443"], [], "10.1.2.3", 443, "x", true],
    [["10.0.0.0/8:443"], [], "10.1.2.3", 444, "x", false],
    [["[fd00::/8]:1-1024"], [], "fd12::1", 1024, "x", true],
    [["[fd00::/8]:1-1024"], [], "fd12::1", 1025, "x", false],
    [["fd00::/8"], [], "fd12::1", 9, "x", true],
    [["fd00::1"], [], "fd00:0::1", 9, "x", true],
    [["2001:db8::1:443"], [], "2001:db8::1:443", 9, "x", true],
    [["2001:db8::1:443"], [], "2001:db8::1", 443, "x", false],
    [["*:10250"], [], "10.0.0.1", 10250, "node", true],
    [["*:10250"], [], "10.0.0.1", 22, "node", false],
    [["*.svc.cluster.local:8443"], [], "10.0.0.1", 8443, "web.svc.cluster.local", true],
    [["*.svc.cluster.local:8443"], [], "10.0.0.1", 8443, "WEB.SVC.Cluster.Local", true],
    [["*.svc.cluster.local"], [], "10.0.0.1", 8443, "svc.cluster.local.evil", false],
    [["*.svc.cluster.local"], [], "10.0.0.1", 8443, "webXsvc.cluster.local", false],
    [["*.svc.cluster.local"], [], "10.0.0.1", 8443, "10.0.0.1", false],
    [[], ["10.0.0.0/8"], "10.1.2.3", 443, "x", false],
    [[], ["10.0.0.0/8"], "::ffff:10.1.2.3", 443, "x", false],
    [[], ["10.0.0.0/8"], "11.1.2.3", 443, "x", true],
    [["10.0.0.0/8"], ["10.1.0.0/16"], "10.1.2.3", 443, "x", false],
    [[], ["*:22"], "10.1.2.3", 22, "x", false],
    [[], ["evil.example"], "10.1.2.3", 22, "evil.example", false],
    [[], ["evil.example"], "10.1.2.3", 22, "evil.example.", false],
    [[], ["::1"], "::1", 22, "x", false],
    [["*"], [], "169.254.169.254", 80, "x", false],
    [["0.0.0.0/0"], [], "169.254.169.254", 80, "x", false],
    [["169.254.169.254/31"], [], "169.254.169.254", 80, "x", false],
    [["169.254.169.254"], [], "169.254.169.254", 80, "x", true],
    [["169.254.169.254/32"], [], "169.254.169.254", 80, "x", true],
    [["169.254.169.254:80"], [], "169.254.169.254", 80, "x", true],
    [["169.254.169.254:80"], [], "169.254.169.254", 81, "x", false],
    [["fd00:ec2::254"], [], "fd00:ec2::254", 80, "x", true],
    [["169.254.169.254"], ["169.254.0.0/16"], "169.254.169.254", 80, "x", false],
    [[], ["0.0.0.0"], "127.0.0.1", 22, "x", false],
    [[], ["0.0.0.0/8"], "0.0.0.0", 22, "x", false],
    [[], ["127.0.0.0/8"], "0.0.0.0", 22, "x", false],
    [["127.0.0.1"], [], "0.0.0.0", 22, "x", true],
    [[], ["::"], "::1", 22, "x", false],
    [[], ["::1"], "::", 22, "x", false],
    [[], ["::ffff:10.0.0.0/104"], "10.1.2.3", 22, "x", false],
    [[], ["::ffff:10.0.0.1"], "10.0.0.1", 22, "x", false],
    [[], ["10.0.0.0/8"], "64:ff9b::10.1.2.3", 22, "x", false],
    [[], ["10.0.0.0/8"], "2002:a01:203::1", 22, "x", false],
    [["10.0.0.0/8"], [], "64:ff9b::10.1.2.3", 22, "x", false],
    [["64:ff9b::/96"], [], "64:ff9b::10.1.2.3", 22, "x", true],
    [["64:ff9b::/96"], [], "64:ff9b::169.254.169.254", 80, "x", false],
    [["64:ff9b::/96", "169.254.169.254"], [], "64:ff9b::169.254.169.254", 80, "x", true],
    [[], ["fe80::/10"], "fe80::1%eth0", 22, "x", false],
    [["f*"], [], "fd00::1", 22, "fd00::1", false],
    [["f*"], [], "fd00::1", 22, "front", true],
    [["*"], [], "fd00::1", 22, "fd00::1", true],
    [[], ["evil.example."], "10.1.2.3", 22, "EVIL.example", false],
    [["metadata.google.internal"], [], "169.254.169.254", 80, "metadata.google.internal", false],
  ];

  test.each(cases)("allow %j deny %j: %s port %i as %s -> %s", (allow, deny, address, port, host, expected) => {
    expect(permits(new DestinationPolicy(allow, deny), address, port, host)).toBe(expected);
  });

  test("the refusal names the rule", () => {
    const policy = new DestinationPolicy([], ["10.0.0.0/8:443"]);
    expect(policy.refusal(parseHost("x")!, "10.0.0.1", 443)).toContain("--deny 10.0.0.0/8:443");
  });
});

describe("a rule that cannot be meant", () => {
  test.each([
    "",
    ":443",
    "10.0.0.0/33",
    "10.0.0.0/",
    "10.0.0.0/8/8",
    "10.0.0.0/8:",
    "10.0.0.0/8:70000",
    "10.0.0.0/8:9-1",
    "10.0.0.0/8:x",
    "[fd00::1",
    "fd00::1]",
    "fd00::/129",
    "fd00:::1",
    "http://x",
    "a b",
    "a,b",
    "10.0.0.1/8:443:444",
    "0",
    "127.1",
    "0x7f.1",
    "127.0.0.01",
    "10.0.*",
    "::ffff:10.0.0.0/90",
    "ⓛocalhost",
  ])("%j is refused with a sentence that quotes it", (text) => {
    for (const make of [() => new DestinationPolicy([text], []), () => new DestinationPolicy([], [text])]) {
      expect(make).toThrow(expect.objectContaining({ code: "DB_FLAG_VALUE", message: expect.stringContaining(text) }));
    }
  });
});
