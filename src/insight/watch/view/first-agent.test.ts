import { expect, test } from "vitest";
import type { CertificateInfo } from "../../observe/admin/contract.js";
import { NOW } from "../testing/samples.js";
import { agentCommand } from "./first-agent.js";

const certificate = (kind: "own" | "trusted", names: string[]): CertificateInfo => ({
  ...{ file: "", use: "agents", kind, subject: "", issuer: "", names, serial: "", fingerprint: "" },
  ...{ notBeforeAt: NOW, notAfterAt: NOW },
});
const listeners = (address: string) => [
  { what: "health", address: "0.0.0.0:8092" },
  { what: "agents", address },
];

test("the name is one of the certificate's that others can use, the port the listener's", () => {
  const certificates = [certificate("own", ["localhost", "127.0.0.1", "10.1.2.3"]), certificate("trusted", [])];
  expect(agentCommand({ listeners: listeners("[::]:9091"), certificates })).toBe(
    `proxy-agent \\
  --proxy-server-host=10.1.2.3 \\
  --proxy-server-port=9091 \\
  --agent-id=NAME \\
  --ca-cert=CA_FILE \\
  --agent-cert=CERT_FILE \\
  --agent-key=KEY_FILE`,
  );
});

test("a server that asks for no certificate is given a token", () => {
  const command = agentCommand({ listeners: listeners("192.0.2.1:8091"), certificates: [certificate("own", [])] });
  expect(command).toContain("--proxy-server-host=192.0.2.1 \\\n");
  expect(command).toContain("--service-account-token-path=TOKEN_FILE");
  expect(command).not.toContain("--agent-cert");
});

test("what is not known is left to the reader", () => {
  expect(agentCommand({ listeners: [], certificates: [] })).toMatch(/-host=SERVER [\s\S]*-port=8091/);
});
