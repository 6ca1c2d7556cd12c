import { expect, test } from "vitest";
import type { AgentPeer } from "../../insight/observe/admin/contract.js";
import { drain, drainedText } from "./drain.js";

function server(...agents: readonly Partial<AgentPeer>[]) {
  const posted: string[] = [];
  return {
    posted,
    address: "127.0.0.1:8095",
    find: async <T>(_: string) => ({ items: agents.map((agent) => ({ tunnels: 0, draining: false, ...agent })) }) as T,
    post: async (route: string) => {
      posted.push(route);
      return {};
    },
  };
}

test("every connection of the agent drains, and the answer says who takes its dials", async () => {
  const port = server(
    { key: 1, id: "node-1", tunnels: 2 },
    { key: 2, id: "node-1", tunnels: 1 },
    { key: 3, id: "node-2" },
    { key: 4, id: "node-3", draining: true },
  );
  const drained = await drain(port, "node-1");
  expect(port.posted).toEqual(["agents/1/drain", "agents/2/drain"]);
  expect(drained).toEqual({ agent: "node-1", tunnels: 3, others: 1 });
  expect(drainedText(drained)).toBe(
    "node-1 drains: new dials go to the other agent where they fit; its 3 open tunnels stay.\n",
  );
});

test("an agent is found behind the first thousand, too", async () => {
  const port = server({ key: 1500, id: "node-1500" });
  const pages = [{ items: [{ key: 1, id: "node-1", tunnels: 0, draining: false }], next: 1 }, await port.find("")];
  const asked: string[] = [];
  const find = async <T>(route: string) => {
    asked.push(route);
    return pages[asked.length - 1] as T;
  };
  await drain({ ...port, find }, "node-1500");
  expect(port.posted).toEqual(["agents/1500/drain"]);
  expect(asked).toEqual(["agents?limit=1000&after=0", "agents?limit=1000&after=1"]);
});

test("of the only agent it is said that it still gets dials", async () => {
  expect(drainedText(await drain(server({ key: 1, id: "node-1" }), "node-1"))).toBe(
    "node-1 drains: no other agent takes new dials, so it still gets them until another connects; no tunnel is open through it.\n",
  );
});

test.each([
  ["node-11", [{ key: 1, id: "node-1" }], 'no agent "node-11" is connected; did you mean node-1?'],
  ["x", [{ key: 1, id: "node-1" }], 'no agent "x" is connected; connected are node-1.'],
  ["x", [], 'no agent "x" is connected; none is.'],
])("%s, which is not connected, is refused", async (id, agents, message) => {
  await expect(drain(server(...agents), id)).rejects.toMatchObject({ code: "DB_AGENT_UNKNOWN", message });
});

test("a process without agents is no server", async () => {
  const agent = { ...server(), find: async () => undefined };
  await expect(drain(agent, "node-1")).rejects.toThrow("the process at 127.0.0.1:8095 is no server");
});
