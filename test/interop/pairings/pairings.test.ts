import { describe } from "vitest";
import { peersAvailable } from "../../support/processes/executables.js";
import type { FrontendKind } from "../../support/processes/server.js";
import { tellStory } from "./story.js";

const FRONTENDS: readonly FrontendKind[] = ["grpc-uds", "connect-uds", "connect-tcp"];

// theirs/theirs is the control: it shows that the story itself is told right.
const PAIRINGS = [
  { server: "theirs", agent: "theirs" },
  { server: "ours", agent: "theirs" },
  { server: "theirs", agent: "ours" },
  { server: "ours", agent: "ours" },
] as const;

const peers = peersAvailable("proxy-server", "proxy-agent", "grpc-dialer");

describe.skipIf(!peers)("pairings", () => {
  for (const frontend of FRONTENDS) {
    for (const pairing of PAIRINGS) tellStory({ ...pairing, frontend });
  }
});
