import type { Tunnel } from "../tunnel.js";
import { direct } from "./direct.js";
import { haproxy } from "./haproxy.js";
import { nginx } from "./nginx.js";
import { openssh } from "./openssh.js";
import { drawbridge, upstream } from "./pair.js";
import { ratholeNoise, ratholeTls } from "./rathole.js";
import { stunnel } from "./stunnel.js";

/** Those of the same kind first. */
export const allTunnels: readonly Tunnel[] = [
  ...[drawbridge, upstream, openssh],
  ...[ratholeTls, ratholeNoise],
  ...[haproxy, stunnel, nginx],
  direct,
];
