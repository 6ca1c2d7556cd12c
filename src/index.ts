/** The library: what a TypeScript program may use. */

export { DrawbridgeError } from "./base/errors/error.js";
export { ProxyAgent } from "./tunnel/agent/agent.js";
export type { AgentConfig } from "./tunnel/agent/config.js";
export * from "./tunnel/client/index.js";
export type { ServerConfig } from "./tunnel/server/config.js";
export { ProxyServer } from "./tunnel/server/server.js";
