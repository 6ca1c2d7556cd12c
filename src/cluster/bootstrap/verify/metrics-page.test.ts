import { expect, test } from "vitest";
import { connectedAgents, dialsEstablished, samples } from "./metrics-page.js";

const PREFIX = "konnectivity_network_proxy_server_";

const ours = `# HELP ${PREFIX}ready_backend_connections Number
${PREFIX}ready_backend_connections 2
${PREFIX}ready_backends{proxy_strategy="defaultRoute"} 2
${PREFIX}dial_duration_seconds_count 41
drawbridge_server_agent_tunnels{agent_id="n1"} 0
drawbridge_server_agent_tunnels{agent_id="a\\"b\\\\c,d=\\n"} 3
`;

test("our server names its agents, whatever they call themselves", () => {
  expect(connectedAgents(ours)).toEqual({ count: 2, ids: ["n1", 'a"b\\c,d=\n'] });
  expect(dialsEstablished(ours)).toBe(41);
});

test("upstream's counts them", () => {
  expect(connectedAgents(`${PREFIX}ready_backend_connections 3\n`)).toEqual({ count: 3, ids: undefined });
  const newer = `${PREFIX}ready_backends{proxy_strategy="destHost"} 0\n${PREFIX}ready_backends{proxy_strategy="default"} 4\n`;
  expect(connectedAgents(newer)).toEqual({ count: 4, ids: undefined });
  expect(connectedAgents(`${PREFIX}ready_backend_connections 0\n`)).toEqual({ count: 0, ids: [] });
});

test("a page of something else is none", () => {
  expect(connectedAgents("process_cpu_seconds_total 1\n<html>")).toBeUndefined();
  expect(dialsEstablished("")).toBeUndefined();
  expect(samples(ours, "ready")).toEqual([]);
});
