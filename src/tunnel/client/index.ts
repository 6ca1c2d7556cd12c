/** Dialling through a proxy-server: what a program may use (docs/library.md). */

export { type Dialer, dialThrough } from "./dial.js";
export type { DialOptions } from "./errors.js";
export { DialRefusedError } from "./errors.js";
export type { Frontend, FrontendProtocol, FrontendTls } from "./frontend.js";
export { GrpcTunnelPool } from "./grpc-pool.js";
export type { TunnelSocket } from "./grpc-tunnel.js";
export { createHttpAgent, createHttpsAgent, type HttpAgentOptions, type HttpsAgentOptions } from "./http-agent.js";
