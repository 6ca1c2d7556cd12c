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
  DB_ADMIN_CLOSED: {
    meaning: "The admin API is closed, because there is no token to ask for.",
    remedy: "Start the process with --admin-token-file and a file that holds a long random token.",
  },
  DB_ADMIN_TLS: {
    meaning: "The admin API is spoken in the clear on loopback only.",
    remedy:
      "Give --admin-cert-file and --admin-key-file, or come through a tunnel to loopback, with ssh -L for example.",
  },
  DB_ADMIN_UNREACHABLE: {
    meaning: "An admin port does not answer.",
    remedy:
      "Give --admin the address that the process logs for its admin port, and run this on the same host or through ssh -L; beyond loopback it speaks TLS.",
  },
  DB_ADMIN_REFUSED: {
    meaning: "An admin port refused the request.",
    remedy: "Give --token-file the file that the process was started with as --admin-token-file.",
  },
  DB_ADMIN_ANSWER: {
    meaning: "What answers at the admin address does not speak drawbridge's admin API.",
    remedy: "Check --admin: upstream's programs have no such API, and health ports do not serve it.",
  },
  DB_SUPPORT: {
    meaning: "The support bundle cannot be written, so there is none.",
    remedy: "Give --out a path in a directory that exists, may be written to and has space.",
  },
  DB_KUBECONFIG: {
    meaning: "The kubeconfig cannot be read or names no usable cluster.",
    remedy: "Check the file with kubectl --kubeconfig, or leave the flag out inside a pod to use its service account.",
  },

  // Listeners
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
  DB_PKI_EXISTS: {
    meaning: "Other certificates or files stand where new certificates should go.",
    remedy: "Choose another directory or name, or give --replace where the old certificates may go.",
  },
  DB_PKI_MANIFEST: {
    meaning: "The record of what a certificate directory holds is missing or unusable.",
    remedy: "Name a directory that drawbridge pki init made, or make the certificates again in an empty one.",
  },
  DB_PKI_SIGNER_KEY: {
    meaning: "The signer's key, which is not kept unless asked for, is needed.",
    remedy:
      "Make the set again with drawbridge pki init --replace --dir and hand out the new files; with --keep-signer-key the next renewal will not need that.",
  },
  DB_PKI_SIGNER_PAIR: {
    meaning:
      "A signer's key and its certificate are not of one making, as after a change of signers that was cut short.",
    remedy: "Put the signer's own key back, or make new signers with drawbridge pki renew --new-signers.",
  },
  DB_PKI_ROTATION: {
    meaning: "The step of a change of signers that was asked for cannot be taken from where the set stands.",
    remedy:
      "Keep to the order: drawbridge pki renew with --new-signers, then without, then with --drop-former-signers, and hand the files out after each.",
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
  DB_HTTP_ANSWER: {
    meaning: "A web server was reached through the sidecar, but gave no complete HTTP answer.",
    remedy: "Ask the same of the server from its own network; its log says why it hung up.",
  },
  DB_FRONTEND: {
    meaning: "The proxy-server's frontend cannot be reached, or it hung up.",
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
  DB_SERVER_HUNG_UP: {
    meaning: "A server took the agent's connection and hung up before it said anything.",
    remedy: "Look into the server's log for this agent's address: it says which certificate or token it wants.",
  },

  // Kubernetes API
  DB_API_REQUEST: {
    meaning: "A request to the Kubernetes API failed.",
    remedy: "Check that the API server is reachable and that this identity has the permission the message names.",
  },
  DB_OBJECT_REFUSED: {
    meaning: "A cluster refused an object.",
    remedy:
      "Read the cluster's own words in the message; another manager's fields are taken over only with --force-conflicts.",
  },

  // The bridge
  DB_BRIDGE_OPTIONS: {
    meaning: "The options describe a bridge that cannot work or could not be taken away safely.",
    remedy: "Change the option that the message names; drawbridge bootstrap render --help explains each.",
  },
  DB_RENDER_WRITE: {
    meaning: "A rendered file cannot be written.",
    remedy:
      "Check that the directory of --out has space and may be written by this user; existing files were kept whole.",
  },
  DB_ADDRESS_REFUSED: {
    meaning: "The address that agents should dial cannot be used.",
    remedy:
      "Give the bootstrap host's own address on the network that nodes share, not a VIP, a name or a local address.",
  },
  DB_ADDRESS_NOT_FOUND: {
    meaning: "No address of this host was found that agents could dial.",
    remedy: "Give the address with the flag, or in DRAWBRIDGE_BOOTSTRAP_NODE_IP.",
  },
  DB_ADDRESS_LOOKUP: {
    meaning: "The host's addresses and routes cannot be asked for.",
    remedy: "Install iproute2, or give the address with the flag on a host that has it.",
  },
  DB_ADDRESS_CHANGED: {
    meaning: "The host's address is not the one its certificates and agents were made for.",
    remedy:
      "Give the earlier address with the flag if it still leads here; otherwise take the bridge down and bring it up again.",
  },
  DB_ADDRESS_RECORD: {
    meaning: "The record of the chosen address cannot be read or written.",
    remedy:
      "Make the directory of the certificates readable and writable, or remove the record together with the certificates.",
  },
  DB_FIREWALL_MANIFEST: {
    meaning: "The cluster's network manifest cannot be changed.",
    remedy:
      "Run openshift-install create manifests first and give that directory, or open the port with the commands of drawbridge firewall plan.",
  },

  // The bridge on its host
  DB_BRIDGE_RECORD: {
    meaning: "The record of the bridge on this host cannot be read or written.",
    remedy: "Make the state directory readable and writable for this user, or name the right one with --state-dir.",
  },
  DB_RECORD_UNTRUSTED: {
    meaning: "A record that somebody else could have written is not acted upon.",
    remedy:
      "Look at what it says, then give the file and its directory to root or to this user, with modes 0600 and 0700; without the record, teardown looks in every place a bridge uses.",
  },
  DB_BRIDGE_EXISTS: {
    meaning: "Something that the bridge would have to change is there already and is not this bridge's.",
    remedy:
      "Take the other one down first with drawbridge bootstrap teardown, or repeat up with the options it was made with.",
  },
  DB_BRIDGE_ABSENT: {
    meaning: "There is no bridge on this host.",
    remedy: "Run the command on the host where up was run, or name its state directory with --state-dir.",
  },
  DB_BRIDGE_ENDED: {
    meaning: "The bridge's time is over: its certificates have ended.",
    remedy:
      "Run drawbridge bootstrap teardown and, if the bridge is still needed, drawbridge bootstrap up with a longer --for.",
  },
  DB_HOST_FILE: {
    meaning: "A file of the bridge cannot be read, written or removed on this host.",
    remedy:
      "Run the command as root and check that the directory has space and may be written; running it again goes on where it stopped.",
  },
  DB_HIGHLY_AVAILABLE: {
    meaning: "The control plane has several kube-apiservers, and one server serves only the one beside it.",
    remedy:
      "Give --only-this-apiserver if the others reach pods without a bridge; otherwise bring the bridge up before the other control-plane nodes join.",
  },
  DB_SERVER_START: {
    meaning: "The bridge's server did not start.",
    remedy: "Read the server's log, correct what it complains about and run up again.",
  },
  DB_API_SERVER_CHANGE: {
    meaning: "The kube-apiserver's configuration cannot be changed as the bridge needs it.",
    remedy:
      "Change it by hand as the message says and run the command again; a backup of what was changed is in the state directory.",
  },
  DB_API_SERVER_WAIT: {
    meaning: "The kube-apiserver did not take up its changed configuration in time.",
    remedy: "Look at its log, mend it and run the command again, with a longer --timeout if the host is only slow.",
  },
  DB_AGENTS_WAIT: {
    meaning: "Not every ready node has an agent that is connected.",
    remedy:
      "Run drawbridge bootstrap status for the nodes that are missing, and check that they reach the agents' port on this host.",
  },

  // bootstrap.ign
  DB_IGNITION_FILE: {
    meaning: "The file is not an Ignition config that can be read.",
    remedy: "Give the bootstrap.ign that openshift-install create ignition-configs wrote, complete and uncompressed.",
  },
  DB_IGNITION_SPEC: {
    meaning: "The Ignition config is of a spec version that is not supported.",
    remedy: "Use the bootstrap.ign of an installer from 4.6 on, which writes spec 3.",
  },
  DB_IGNITION_CONTENT: {
    meaning: "The Ignition config contradicts itself or holds what no installer writes.",
    remedy: "Generate it again with openshift-install and undo what other tools did to it; nothing was changed.",
  },
  DB_IGNITION_SHIM: {
    meaning: "The Ignition config only points to the real one.",
    remedy: "Inject into the bootstrap.ign that it points to, before that is uploaded.",
  },
  DB_IGNITION_ANCHORS: {
    meaning: "The scripts in the Ignition config are not of a kind that the bridge can be tied to.",
    remedy:
      "Check that it is an unmodified bootstrap.ign of a supported release and report the list of anchors; nothing was changed.",
  },
  DB_IGNITION_WRITE: {
    meaning: "The changed Ignition config cannot be written.",
    remedy: "Make room, or choose another place with --out; the input is as it was.",
  },
  DB_INJECT_IMAGE: {
    meaning: "The release's payload is too old to have the tunnel's programs.",
    remedy:
      "Name an image that has proxy-server and proxy-agent with --image (and --image-kind if it is not the payload's kind).",
  },

  // Looking at a bridge from outside
  DB_INSTALL_DIR: {
    meaning: "The install directory lacks something that is needed.",
    remedy:
      "Give the directory that openshift-install create cluster ran in, or say with --bootstrap, --key and --kubeconfig what it would have said.",
  },
  DB_SSH: {
    meaning: "A host cannot be reached or used over SSH.",
    remedy:
      "Try the same with ssh by hand; give the key with --key, the user with --user and the address with --bootstrap.",
  },
  DB_GATHER: {
    meaning: "What was to be gathered cannot be collected or stored.",
    remedy:
      "Run the command as root on the bootstrap host, or name that host with --bootstrap or --dir, and give --out a path with space.",
  },
  DB_BUNDLE: {
    meaning: "The archive cannot be analysed.",
    remedy:
      "Give an archive of drawbridge bootstrap gather, a log bundle of openshift-install gather bootstrap, or a directory with one of them unpacked; gather again if it is damaged.",
  },

  // Pools, tokens and the nodes that join
  DB_NODEPOOL: {
    meaning: "A NodePool, or something it stands on, cannot be used as it is.",
    remedy: "Correct the field that the message names and apply the object again; its conditions say when it is taken.",
  },
  DB_NODEPOOL_CONFIG: {
    meaning: "A document that should configure a pool's machines cannot be used.",
    remedy:
      "Correct the document that the message names in its ConfigMap; machines keep what they have, and no new Secret is made until then.",
  },
  DB_NODEPOOL_DIRECTORY: {
    meaning: "A directory of Kubernetes objects cannot be read or written.",
    remedy: "Mend or remove the file that the message names; nothing is changed on the strength of half a directory.",
  },
  DB_NODEPOOL_HYPERSHIFT: {
    meaning: "Pools here belong to HyperShift, whose operator looks after them.",
    remedy:
      "Use its token and user-data Secrets as they are; two controllers on one pool would undo each other's work.",
  },
  DB_NODEPOOL_INSTALL: {
    meaning: "What pools need in a cluster is not there.",
    remedy: "Run drawbridge nodepool install with an administrator's kubeconfig.",
  },
  DB_WORKERS: {
    meaning: "Workers cannot be made, listed or removed as asked.",
    remedy: "Correct what the message names and run the command again; workers that are recorded already are kept.",
  },
  DB_WORKERS_DRAIN: {
    meaning: "Pods keep a node from being drained.",
    remedy:
      "Let them go with the flag that the message names, or give them room elsewhere, and run the command again; it goes on where it stopped.",
  },
  DB_WORKERS_WAIT: {
    meaning: "Workers, or what they need, were not ready in time.",
    remedy:
      "Do what the message says, ask drawbridge workers doctor for the cause, and run the same command again; it goes on where it stopped.",
  },
  DB_SIMULATE_FETCH: {
    meaning: "What a machine's user data refers to cannot be fetched.",
    remedy:
      "Ask drawbridge workers doctor for the cause; a machine that was refused gives up, one that got no answer or 511 asks again.",
  },
  DB_SIMULATE_ROOT: {
    meaning: "The directory that stands for a machine's disk cannot take what the machine was given.",
    remedy: "Name a new directory with --root, on a file system that has links and modes.",
  },
  DB_SIMULATE_JOIN: {
    meaning: "A simulated machine did not get a node's certificates.",
    remedy: "Look at its request with drawbridge csr explain, and at the worker with drawbridge workers doctor.",
  },
  DB_NODE_PAYLOAD: {
    meaning: "Machines of a pool wait with 511, because no payload is made for them.",
    remedy: "Mend what the message names; the Ignition server tries again by itself, and machines go on by themselves.",
  },
  DB_NODE_USER_DATA: {
    meaning: "A machine's user data cannot open its configuration: the server answers 401, and the machine gives up.",
    remedy:
      "Write it again with drawbridge workers userdata NAME, or with workers doctor --fix, and boot the machine again.",
  },
  DB_NODE_USER_DATA_OLD: {
    meaning: "A machine's user data is older than its pool's token or configuration, and ends soon.",
    remedy:
      "Write it again with drawbridge workers userdata NAME, or with workers doctor --fix, before a machine boots with it.",
  },
  DB_NODE_TOKEN_UNKNOWN: {
    meaning: "The token in a machine's user data is nobody's, so the machine waits with 511 for ever.",
    remedy:
      "Write it again with drawbridge workers userdata NAME, or with workers doctor --fix, and boot the machine again.",
  },
  DB_NODE_TOKEN_EXPIRED: {
    meaning: "The token in a machine's user data has ended, so the machine waits with 511 for ever.",
    remedy:
      "Write it again with drawbridge workers userdata NAME, or with workers doctor --fix, and boot the machine again.",
  },
  DB_NODE_IGNITION_NAME: {
    meaning: "The Ignition server's certificate is not one that machines accept at the address they are given.",
    remedy:
      "Let nodepool controller --issue-certificate issue it for the published address, or publish the address that the certificate has.",
  },
  DB_NODE_IGNITION_UNREACHABLE: {
    meaning: "The Ignition server does not answer at the address that machines are given.",
    remedy: "Start drawbridge ignition serve, or mend the way to it; machines go on asking until it answers.",
  },
  DB_NODE_CSR_PENDING: {
    meaning: "A machine waits for a certificate that nobody approves.",
    remedy:
      "Mend what the message names, or approve the request with workers doctor --fix where its rules allow that, or with drawbridge csr approve.",
  },
  DB_NODE_NOT_READY: {
    meaning: "A node has joined and is not ready.",
    remedy: "Read the node's own words in the message, and the log of its kubelet.",
  },
  DB_NODE_OVN_CERT: {
    meaning:
      "The Secret ovn-control-plane-metrics-cert is missing beside the hosted control plane, so the cluster network does not start and nodes stay NotReady.",
    remedy: "Copy it from the hosted cluster with drawbridge workers doctor --fix.",
  },
  DB_NODE_UNCHECKED: {
    meaning: "Something that could keep machines from becoming nodes could not be looked at.",
    remedy: "Mend what the message names, access to the cluster say, and ask again.",
  },
  DB_FIX_LOG: {
    meaning: "The log of fixes cannot be written, so nothing is fixed.",
    remedy: "Name a file with --fix-log that this user can write to.",
  },
  DB_TOKEN_SECRET: {
    meaning: "A Secret of a pool holds something that no controller writes.",
    remedy: "Delete the Secret; the pool's controller makes it again with a fresh token within seconds.",
  },
  DB_CSR_REQUEST: {
    meaning: "A certificate signing request cannot be read, or cannot be approved any more.",
    remedy:
      "Look at it with drawbridge csr explain; a kubelet that gets no answer files a new request after a quarter of an hour.",
  },
  DB_CSR_INVENTORY: {
    meaning: "The inventory of expected workers cannot be used.",
    remedy: "Correct the record that the message names; nothing is approved on the strength of a broken inventory.",
  },
  DB_CSR_LOG: {
    meaning: "The log of decisions cannot be written.",
    remedy:
      "Make its directory writable for this user and see that there is space; nothing is approved without a record.",
  },

  // Ignition configs
  DB_IGNITION_CONFIG: {
    meaning: "The file holds no Ignition config that can be read.",
    remedy: "Give a complete Ignition config of spec 3 as plain JSON.",
  },
  DB_IGNITION_INVALID: {
    meaning:
      "The Ignition config breaks a rule of the Ignition specification, and a machine would refuse to boot with it.",
    remedy: "Correct what the message names; drawbridge ignition validate lists everything that is wrong.",
  },
  DB_IGNITION_EXPRESS: {
    meaning: "The Ignition config uses something that the wanted spec version cannot express.",
    remedy: "Remove what the message names, or write a newer spec version with --spec if the machines understand it.",
  },
  DB_IGNITION_RESOURCE: {
    meaning: "Something that an Ignition config refers to cannot be used.",
    remedy:
      "Correct the source, compression or hash that the message names, or fetch it first and put it into the config as a data URL.",
  },
  DB_PAYLOAD: {
    meaning: "A pool's payload cannot be made from what is there.",
    remedy:
      "Correct or create what the message names; the Ignition server tries again by itself, and machines wait until it succeeds.",
  },
  DB_PAYLOAD_HASH: {
    meaning: "A pool has no payload under the hash that was named.",
    remedy:
      "Name one of the hashes in the message, or `current`; after a change the payload before it is there for two hours.",
  },
  DB_WORKER_TOKENS: {
    meaning: "The list of workers' own tokens cannot be used.",
    remedy: "Correct the entry that the message names; until then the tokens of the last good list stay valid.",
  },
  DB_IGNITION_AUDIT: {
    meaning: "What the Ignition server should record about a fetch cannot be written.",
    remedy: "Make the file's directory writable for this user and see that there is space.",
  },

  // Hosted control planes
  DB_HOSTED_CONFIG: {
    meaning: "The description of the hosted control plane is not one that can work.",
    remedy:
      "Change what the message names in the file of --config or on the command line; docs/hosted.md explains every field.",
  },
  DB_HOSTED_ADDRESS: {
    meaning: "Where agents in the hosted cluster reach the server is not known.",
    remedy:
      "Give publishing.hostname or publishing.address, or wait until the cluster has assigned one and run the command again.",
  },
  DB_HOSTED_IN_USE: {
    meaning: "A kube-apiserver still runs the server that would be deleted.",
    remedy:
      "Take the patch out of the kube-apiserver's Deployment first, or give --force if the control plane goes as well.",
  },

  // Ways of the sidecar
  DB_SIDECAR_NAME: {
    meaning: "A name that was asked of the sidecar has no address.",
    remedy:
      "Check the name's spelling and the resolvers that the message lists; --resolve chooses others, or leaves names to the agents.",
  },
  DB_SIDECAR_LOOP: {
    meaning: "The sidecar was asked to connect to itself, or through the tunnel to the tunnel's own entrance.",
    remedy: "Correct the address in the client, or the proxy variable that points to the sidecar.",
  },
  DB_SIDECAR_PROXY: {
    meaning: "The HTTP proxy that the sidecar goes through cannot be reached, or it refused.",
    remedy: "Check the proxy's URL, login and authorities, and what the proxy itself said; the message repeats that.",
  },
  DB_SIDECAR_DIRECT: {
    meaning: "A connection that the sidecar makes past the tunnel failed.",
    remedy:
      "Try the same address from the sidecar's pod; if it should have gone through the tunnel, leave the bypass off.",
  },

  // Ourselves
  DB_OBSERVER: {
    meaning: "A log or metrics listener failed; tunnels are not affected.",
    remedy: "Report it together with the warning's text.",
  },
} as const satisfies Record<string, CatalogueEntry>;

export type ErrorCode = keyof typeof catalogue;
