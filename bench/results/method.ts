/** What a reader has to know to trust the figures. */
export const METHOD = `Written by \`npm run bench -- --write\`. Pairs are named server/agent; "ours" is drawbridge as shipped (default logging,
metrics, policy and admin port on), "Go" is upstream's server and agent with \`--v=0\`. Server and agent are separate
processes on loopback with mutual TLS 1.3 and P-256 keys and the suite that both servers
choose by default, AES-128-GCM. All contenders of a row run one after the other in the same
round, in an order that turns round from round to round; figures are medians with the least and the most of all rounds, and ratios
divide values of the same round.

The load generator and the target are a native program (\`peers/loadgen\`), outside both ends. Every bulk byte is
compared: both sides make the same endless stream, a random 1 MiB block keyed by a seed that each tunnel has for itself,
repeated with a running number in every 64 KiB, so that a byte that is changed, lost, doubled, moved or from another
tunnel shows. Downloads are compared by the driver; uploads by the target, which acknowledges what it found right, and a
run ends only when all that was sent is acknowledged. Ping-pong answers are compared as well.

[comparison.md](comparison.md) has the same work through other tunnels (OpenSSH, rathole, HAProxy, stunnel, nginx), and
[speed.md](speed.md) has where the time goes, what was tried, and how cost grows.`;

export const LIMITS_NOTE = `\`direct\` is the driver against the target without anything between them: the most the load generator can do. \`relay\` is
the plainest two-hop tunnel (one connection with its own TLS between the hops for each caller, nothing multiplexed).
A row for \`memory\`, \`stalled\`, \`dead-targets\`, \`start\` or agents starts fresh processes; the others share processes that
were used before. Peak memory is the most within a row, not since the start of the process.`;
