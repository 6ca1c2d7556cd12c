/**
 * Every error drawbridge can show a person: a stable code, what it means, and what to do.
 * docs/errors.md explains each one; a test keeps the two in step.
 */
export interface CatalogueEntry {
  /** One sentence, without the particulars. */
  readonly meaning: string;
  /** The next step for the reader. */
  readonly remedy: string;
}

export const catalogue = {
  // Command line and files it names
  DB_FLAG_UNKNOWN: {
    meaning: "A flag on the command line is not known.",
    remedy: "Run the command with --help and compare the spelling.",
  },
  DB_FLAG_VALUE: {
    meaning: "A flag's value cannot be used.",
    remedy: "Correct the value; --help shows the flag's type and default.",
  },
  DB_SERVER_HOST_EMPTY: {
    meaning: "The agent was not told which proxy-server to connect to.",
    remedy: "Give --proxy-server-host a host name or an address.",
  },
  DB_AGENT_AUTH_MISSING: {
    meaning: "The server would accept agents that prove nothing about themselves.",
    remedy:
      "Give --cluster-ca-cert for client certificates, or --agent-namespace, --agent-service-account and --authentication-audience for tokens, or accept the risk with --allow-unauthenticated-agents.",
  },
  DB_IDENTIFIERS: {
    meaning: "Agent identifiers cannot be parsed.",
    remedy:
      "Write them as a URL query of ipv4, ipv6, host, cidr and default-route, for example ipv4=10.0.0.1&host=node-1.",
  },
  DB_CLAIMS_FILE: {
    meaning: "The rules that say which agent may claim which identifiers cannot be used.",
    remedy: "Correct the file at the place the message names; the rules in force before stay in force until then.",
  },
  DB_TOKEN_FILE: {
    meaning: "The agent's service account token is missing or unreadable.",
    remedy:
      "Mount a projected service account token at the path of --service-account-token-path and let the agent's user read it.",
  },
  DB_ADMIN_TOKEN_FILE: {
    meaning: "The file with the admin API's token is missing, unreadable or empty.",
    remedy:
      "Put one line with a long random token into the file of --admin-token-file, mode 0600, owned by the user that runs the process.",
  },
  DB_KUBECONFIG: {
    meaning: "The kubeconfig cannot be read or names no usable cluster.",
    remedy: "Check the file with kubectl --kubeconfig, or leave the flag out inside a pod to use its service account.",
  },

  // Doors
  DB_LISTEN_IN_USE: {
    meaning: "Another process already listens where a listener should open.",
    remedy: "Stop the other process or choose another port or socket path.",
  },
  DB_LISTEN: {
    meaning: "A listener cannot be opened.",
    remedy: "Check that the address belongs to this host and that the user may use the port or the directory.",
  },
  DB_UDS_PATH_TOO_LONG: {
    meaning: "The path of a unix socket is longer than the system allows.",
    remedy: "Choose a path of at most 107 bytes, for example under /run.",
  },
  DB_UDS_NOT_SOCKET: {
    meaning: "Something that is not a socket stands where a unix socket should be made.",
    remedy: "Move it away or choose another path; only old sockets are removed.",
  },

  // Certificates
  DB_CERT_FILE: {
    meaning: "A certificate, key or CA file cannot be used.",
    remedy: "Replace the file the message names; certificates in service stay in service until then.",
  },
  DB_CERT_MISSING: {
    meaning: "A certificate, key or CA file does not exist.",
    remedy: "Create the file, mount its Secret, or correct the flag that names it.",
  },
  DB_CERT_NOT_PEM: {
    meaning: "A certificate, key or CA file is not PEM.",
    remedy: "Convert it, for example with openssl x509 -inform der -outform pem.",
  },
  DB_CERT_KEY_MISMATCH: {
    meaning: "A private key does not belong to its certificate.",
    remedy: "Install certificate and key from the same issue; replace both files together.",
  },
  DB_CA_BUNDLE_EMPTY: {
    meaning: "A CA bundle contains no certificate.",
    remedy: "Put at least one CA certificate in PEM into the file.",
  },
  DB_CERT_ISSUE: {
    meaning: "A certificate cannot be issued as asked.",
    remedy: "Correct the name, lifetime or key kind that the message names.",
  },
  DB_CERT_WRITE: {
    meaning: "Certificate files cannot be written.",
    remedy: "Check that the directory exists, has space and may be written by this user.",
  },

  // Dials and tunnels
  DB_NO_AGENT: {
    meaning: "No connected agent may serve the address that was dialled.",
    remedy:
      "Look the reference id up in the server's log or admin API; it lists the strategies tried and every agent considered.",
  },
  DB_DIAL_DENIED: {
    meaning: "The agent's destination policy forbids the address.",
    remedy: "If the destination is wanted, add an --allow rule for it on the agents.",
  },
  DB_DIAL_TIMEOUT: {
    meaning: "A dial was not answered before its deadline.",
    remedy:
      "Try the address from the agent's own network; raise --backend-dial-timeout only if the endpoint is really that slow.",
  },
  DB_DIAL_FAILED: {
    meaning: "The agent could not connect to the endpoint, or the address is not one that can be dialled.",
    remedy: "Try the same address from the agent's network; the text behind the code is the agent's own.",
  },
  DB_FRONTEND: {
    meaning: "The proxy-server's front door cannot be reached, or it hung up.",
    remedy: "Check the socket path or address, the client certificate and the server's log.",
  },
  DB_AGENT_LOST: {
    meaning: "The agent that carried a dial or tunnel went away.",
    remedy: "Retry; if it repeats, read that agent's log and the network between agent and server.",
  },
  DB_SLOW_READER: {
    meaning: "A tunnel was ended because its reader was too slow for the bytes waiting for it.",
    remedy: "Find out why the reader stalls; with drawbridge on both ends a slow reader slows its sender instead.",
  },

  // Peers
  DB_PEER_PROTOCOL: {
    meaning: "The peer broke the protocol, and the stream was ended.",
    remedy: "Check what really connects to this port and compare the versions of both sides.",
  },
  DB_AGENT_TOKEN: {
    meaning: "The server did not accept an agent's token.",
    remedy:
      "Compare the agent's service account, namespace and token audience with --agent-service-account, --agent-namespace and --authentication-audience.",
  },
  DB_MESSAGE_TOO_LARGE: {
    meaning: "The peer sent a message over the limit of 4 MiB, and the stream was ended.",
    remedy: "Find the client that writes so much at once; Konnectivity's own limit is the same.",
  },
  DB_SERVER_HEADERS_MISSING: {
    meaning: "A server answered the agent without its server id and server count.",
    remedy: "Check that the address leads to the agent port of a proxy-server and that the server accepts this agent.",
  },
  DB_SERVER_HEADERS_TIMEOUT: {
    meaning: "A server accepted the connection but did not answer the agent in time.",
    remedy: "Check the server's health and whether something between the two only half works.",
  },

  // Kubernetes API
  DB_API_REQUEST: {
    meaning: "A request to the Kubernetes API failed.",
    remedy: "Check that the API server is reachable and that this identity has the permission the message names.",
  },

  // Ourselves
  DB_OBSERVER: {
    meaning: "A log or metrics listener failed; tunnels are not affected.",
    remedy: "Report it together with the warning's text.",
  },
} as const satisfies Record<string, CatalogueEntry>;

export type ErrorCode = keyof typeof catalogue;
