/** The library: what a TypeScript program may use. */

export { ProxyAgent } from "./agent/agent.js";
export type { AgentConfig } from "./agent/config.js";
export * from "./client/index.js";
export { DrawbridgeError } from "./errors/error.js";
export type { ServerConfig } from "./server/config.js";
export { ProxyServer } from "./server/server.js";
