import { tellStory } from "../interop/pairings/story.js";

// The pairing story with both parts ours: what `npm test` can show without any Go. A gRPC caller needs a Go peer.
tellStory({ server: "ours", agent: "ours", frontend: "connect-uds" });
tellStory({ server: "ours", agent: "ours", frontend: "connect-tcp" });
