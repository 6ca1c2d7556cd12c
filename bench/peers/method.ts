/** What a reader has to know to trust the figures. */
export const INTRO = `What people use to get bytes through to a place that they cannot dial, or that they do not want to talk to in the clear: the
same work through each of them, in one run on one machine, whoever wins. Written by \`npm run bench -- --peers --write\`.`;

export const METHOD = `Both ends of a tunnel are processes on the same machine, with loopback between them; the driver and the target are those of
[benchmarks.md](benchmarks.md), and every byte is compared as it is there. In each round every row is played with one tunnel
after the other, in an order that turns round from round to round. Figures are medians, with the least and the most of all
rounds. drawbridge and upstream run as shipped (upstream with \`--v=0\`); all others with their defaults, except that
HAProxy, stunnel and nginx are held to TLS 1.3 with AES-128-GCM and both ends' certificates, OpenSSH to AES-128-GCM, nginx
has a worker for each core, stunnel sends small writes at once, and rathole's log is off. sshd is started with keys made for
the run; nothing of the user's or the machine's configuration is read. \`ssh\` runs a command that waits, instead of \`-N\`:
only for a session does sshd turn Nagle's algorithm off, and with \`-N\` small messages wait for each other.`;

export const KIND_NOTE = `**Reverse** is the job at hand: the end beside the target dials out, and no port has to be open there. **Multiplexed** means
that all callers share one connection between the ends: a new tunnel costs no handshake and no new connection through a NAT
or a firewall, but the tunnels can get into each other's way, which a connection for each caller leaves to the kernel.
Programs that are forward are dialled at the target's side: they could not do this job behind a NAT. They are here to show
what plain C does with one TLS connection for each caller. All encrypt once, between the ends. drawbridge and upstream also
read a CONNECT request, dial what it asks for and answer it, where the others have one target in their configuration.`;

/** Known tunnels that are not measured. */
export const LEFT_OUT = `chisel, frp and cloudflared are left out. Peers are installed by name and version from package registries only: Debian's,
and those of Go modules and Rust crates. Debian 12 has none of the three, and the module proxy in use here does not hand
them out. cloudflared also carries its tunnels to its maker's servers, which a measurement on loopback cannot have.`;

/** Why, where a tunnel of the same kind is ahead of ours; only what a profile or another row shows. */
export const REASONS: Readonly<Record<string, string>> = {
  "new-tunnels":
    "27 % of the server's time is Node's own JavaScript for making and destroying sockets, see [one new tunnel](speed.md#one-new-tunnel)",
  memory: "44 MiB of each end are pages of Node's executable, see [memory](speed.md#memory)",
  "client-back":
    "Node has to start before the agent can dial, see the row [start](benchmarks.md#start) of the benchmarks",
};
