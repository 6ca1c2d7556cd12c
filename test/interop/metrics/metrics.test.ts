/** After the same story a scraper must not be able to tell our processes from upstream's: names, types, texts, labels, buckets. */
import { beforeAll, describe, expect, test } from "vitest";
import { peersAvailable } from "../../support/processes/executables.js";
import { differences, valuesOf } from "./compare.js";
import { additions, deviations } from "./deviations.js";
import { type Pages, tellStory } from "./story.js";

const available = peersAvailable("proxy-server", "proxy-agent", "grpc-dialer");

/** What this story must leave behind, whoever tells it. */
const FIXED = {
  server: ["dial_duration_seconds", "dial_failure_count", "established_connections", "pending_backend_dials"]
    .concat("grpc_connections", "http_connections", "ready_backends", "ready_backend_connections")
    .map((name) => `konnectivity_network_proxy_server_${name}`),
  agent: ["dial_duration_seconds", "endpoint_dial_failure_total", "open_server_connections", "known_server_count"]
    .concat("open_endpoint_connections")
    .map((name) => `konnectivity_network_proxy_agent_${name}`),
};

describe.skipIf(!available).each(["connect-tcp", "connect-uds", "grpc-uds"] as const)(
  "/metrics after a story, %s",
  (frontend) => {
    let theirs: Pages;
    beforeAll(async () => {
      theirs = await tellStory("theirs", "theirs", frontend);
    });

    test("upstream's own pages are the same when the story is told twice", async () => {
      const again = await tellStory("theirs", "theirs", frontend);
      expect(theirs.server.size).toBeGreaterThan(8);
      expect(theirs.agent.size).toBeGreaterThan(5);
      expect(differences(theirs.server, again.server)).toEqual([]);
      expect(differences(theirs.agent, again.agent)).toEqual([]);
      expect(valuesOf(again.server, FIXED.server)).toEqual(valuesOf(theirs.server, FIXED.server));
    });

    test("our server is upstream's to a scraper", async () => {
      const { server } = await tellStory("ours", "theirs", frontend);
      expect(differences(theirs.server, server, deviations)).toEqual([]);
      expect(valuesOf(server, FIXED.server)).toMatchObject(valuesOf(theirs.server, FIXED.server));
    });

    test("our agent is upstream's to a scraper", async () => {
      const { agent } = await tellStory("theirs", "ours", frontend);
      expect(differences(theirs.agent, agent, deviations)).toEqual([]);
      expect(valuesOf(agent, FIXED.agent)).toMatchObject(valuesOf(theirs.agent, FIXED.agent));
    });

    test("our server and agent together add only their own packets", async () => {
      const { server, agent } = await tellStory("ours", "ours", frontend);
      expect(differences(theirs.server, server, [...deviations, ...additions])).toEqual([]);
      expect(differences(theirs.agent, agent, [...deviations, ...additions])).toEqual([]);
    });
  },
);
