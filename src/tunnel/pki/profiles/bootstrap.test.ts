import { X509Certificate } from "node:crypto";
import { describe, expect, test } from "vitest";
import { certificatesFor } from "../write-pki.js";

// What its certificates look like in full: two-issuers.test.ts.
describe("the bootstrap profile", () => {
  test("gives each node an agent certificate of its own when nodes are named", async () => {
    const { leaves } = await certificatesFor("bootstrap", {
      ipAddresses: ["192.0.2.1"],
      nodes: ["node-1", "node-2.a.test"],
    });
    expect([...leaves.keys()]).toEqual(["server", "agent-node-1", "agent-node-2.a.test"]);
    const second = new X509Certificate(leaves.get("agent-node-2.a.test")!.certificatePem);
    expect(second.subject).toBe("O=drawbridge\nCN=node-2.a.test");
    expect(second.subjectAltName).toBe("DNS:node-2.a.test");
    expect(second.keyUsage).toEqual(["1.3.6.1.5.5.7.3.2"]);
  });

  test("gives the server names beside addresses, valid for the given time from two hours before", async () => {
    const now = new Date("2031-05-06T07:08:09.000Z");
    const wanted = { ipAddresses: ["192.0.2.1"], dnsNames: ["bootstrap.example.test"], validForMs: 7_200_000 };
    const { leaves, signers } = await certificatesFor("bootstrap", wanted, now);
    const server = new X509Certificate(leaves.get("server")!.certificatePem);
    expect(server.subjectAltName).toBe("DNS:bootstrap.example.test, IP Address:192.0.2.1");
    for (const { validFrom, validTo } of [server, new X509Certificate(signers.get("ca")!.certificatePem)]) {
      expect(new Date(validFrom).toISOString()).toBe("2031-05-06T05:08:09.000Z");
      expect(new Date(validTo).toISOString()).toBe("2031-05-06T09:08:09.000Z");
    }
  });

  test.each([
    [{ ipAddresses: [] }, /needs at least one DNS name or IP address/],
    [{ ipAddresses: ["192.0.2.1"], nodes: ["../x"] }, /not a node's name/],
    [{ ipAddresses: ["192.0.2.1"], nodes: ["a", "a"] }, /twice/],
    [{ ipAddresses: ["192.0.2.1"], nodes: ["a".repeat(65)] }, /1 to 64 characters/],
  ])("refuses %j", async (options, sentence) => {
    await expect(certificatesFor("bootstrap", options)).rejects.toThrow(sentence);
  });
});
