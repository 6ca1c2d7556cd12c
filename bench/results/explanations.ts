/**
 * Why a bar is missed, by row and metric: what a profile shows and what was tried, with the section of docs/speed.md that
 * has both. Shown only while the bar is missed.
 */
export const EXPLANATIONS: Readonly<Record<string, string>> = {
  "ping-pong-1 p50":
    "six processes wake each other in turn, and JavaScript is 7 % of it, see [one request on one tunnel](speed.md#one-request-on-one-tunnel)",
  "new-tunnels rate":
    "27 % of the server's time is Node's own JavaScript for making and destroying sockets, see [one new tunnel](speed.md#one-new-tunnel)",
  "beside-bulk p99":
    "what is left is waiting for one of two cores that five processes share, see [a request beside bulk](speed.md#a-request-beside-bulk)",
  "sidecar-ping-pong-1 p99": sidecar(),
  "sidecar-ping-pong-64 rate": sidecar(),
  "sidecar-ping-pong-64 p99": sidecar(),
};

function sidecar(): string {
  return "62 % of its time in user space is native code that enters and leaves JavaScript for each read and write, see [the sidecar beside a plain hop](speed.md#the-sidecar-beside-a-plain-hop)";
}
