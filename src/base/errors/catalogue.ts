/**
 * The code of every error that drawbridge can show a person, with the reader's next step. docs/errors.md has a section for
 * each, with its meaning and its causes; a test compares the two.
 */
export const remedies = {
  // Command line and files it names
  DB_FLAG_UNKNOWN: "Run the command with --help and compare the spelling.",
  DB_FLAG_VALUE: "Correct what the message names; --help has every flag with its type and default.",
  DB_FLAG_MISSING: "Add what the message names; --help has examples.",
  DB_AGENT_AUTH_MISSING:
    "Give --cluster-ca-cert for client certificates, or --agent-namespace, --agent-service-account and --authentication-audience for tokens, or accept the risk with --allow-unauthenticated-agents.",
  DB_CLAIMS_FILE:
    "Correct the file at the place the message names; the rules in force before stay in force until then.",
  DB_TOKEN_FILE:
    "Mount a projected service account token at the path of --service-account-token-path and let the agent's user read it.",
  DB_ADMIN_TOKEN_FILE:
    "Put one line with a long random token into the file of --admin-token-file, mode 0600, owned by the user that runs the process.",
  DB_ADMIN_CLOSED: "Start the process with --admin-token-file and a file that holds a long random token.",
  DB_ADMIN_TLS:
    "Give --admin-cert-file and --admin-key-file, or come through a tunnel to loopback, with ssh -L for example.",
  DB_ADMIN_UNREACHABLE:
    "Give --admin the address that the process logs for its admin port, and run this on the same host or through ssh -L; begin it with https:// where the process has --admin-cert-file.",
  DB_ADMIN_REFUSED: "Give --token-file the file that the process was started with as --admin-token-file.",
  DB_ADMIN_UNKNOWN:
    "Start the process if it should run here; for one that runs elsewhere, name its admin port with --admin and the file with its token with --token-file.",
  DB_ADMIN_ANSWER:
    "Give --admin the address that the process logs for its admin port: health ports, agents' ports and frontends do not serve this API, and upstream's programs have none.",
  DB_AGENT_UNKNOWN: "Take the ID of an agent that is connected to this server; drawbridge top --once lists them.",
  DB_OUTPUT: "Make room where standard output leads and run the command again; what is there is only a part.",
  DB_DUMP: "Make room in the folder of --dump-dir, or name another that this user may write to.",
  DB_SUPPORT: "Give --out a path in a directory that exists, may be written to and has space.",
  DB_KUBECONFIG:
    "Check the file with kubectl --kubeconfig, or leave the flag out inside a pod to use its service account.",

  // Listeners
  DB_LISTEN_TWICE: "Give each listener of this process a port of its own.",
  DB_LISTEN_IN_USE: "Stop the other process or choose another port or socket path.",
  DB_LISTEN: "Check that the address belongs to this host and that the user may use the port or the directory.",
  DB_UDS_PATH_TOO_LONG: "Choose a path of at most 107 bytes, for example under /run.",
  DB_UDS_NOT_SOCKET: "Move it away or choose another path; only old sockets are removed.",

  // Certificates
  DB_CERT_FILE: "Correct or replace the file that the message names; a process that runs reads it again by itself.",
  DB_CERT_MISSING: "Create the file, mount its Secret, or correct the flag that names it.",
  DB_CERT_NOT_PEM: "Put the same in PEM in its place; the first line then begins with -----BEGIN.",
  DB_CERT_KEY_MISMATCH: "Install certificate and key from the same issue; replace both files together.",
  DB_CA_BUNDLE_EMPTY: "Put at least one CA certificate in PEM into the file.",
  DB_CERT_ISSUE: "Correct the name, lifetime or key kind that the message names.",
  DB_CERT_WRITE: "Check that the directory exists, has space and may be written by this user.",
  DB_PKI_EXISTS: "Choose another directory or name, or give --replace where the old certificates may go.",
  DB_PKI_MANIFEST: "Name a directory that drawbridge pki init made, or make the certificates again in an empty one.",
  DB_PKI_SIGNER_KEY:
    "Make the set again with drawbridge pki init --replace --dir and hand out the new files; with --keep-signer-key the next renewal will not need that.",
  DB_PKI_SIGNER_PAIR: "Put the signer's own key back, or make new signers with drawbridge pki renew --new-signers.",
  DB_PKI_ROTATION:
    "Keep to the order: drawbridge pki renew with --new-signers, then without, then with --drop-former-signers, and hand the files out after each.",

  // Dials and tunnels
  DB_NO_AGENT:
    "Look the reference id up in the server's log or admin API; it lists the strategies tried and every agent considered.",
  DB_DIAL_DENIED: "If the destination is wanted, add an --allow rule for it on the agents.",
  DB_DIAL_TIMEOUT:
    "Try the address from the agent's own network; raise --backend-dial-timeout only if the endpoint is really that slow.",
  DB_DIAL_FAILED: "Try the same address from the agent's network; the text behind the code is the agent's own.",
  DB_HTTP_ANSWER: "Ask the same of the server from its own network; its log says why it hung up.",
  DB_FRONTEND:
    "Compare the caller's frontend with what the server serves: --uds-name or --server-port, and --mode, for each of which its log has a line listening; then the client certificate and the server's log; a socket that this user may not open (EACCES) is given to it, or to a group of its, with the server's --uds-owner and --uds-mode.",
  DB_AGENT_LOST: "Retry; if it repeats, read that agent's log and the network between agent and server.",
  DB_TUNNEL_CUT:
    "Take what was received as incomplete and ask again; the logs of server and agent say at the same time which of them, or whether the endpoint, ended the connection.",
  DB_SLOW_READER:
    "Find out why the reader stalls; with drawbridge on both ends a slow reader slows its sender instead.",

  // Peers
  DB_PEER_PROTOCOL: "Check what really connects to this port and compare the versions of both sides.",
  DB_PEER_NO_CERT:
    "Give the peer a certificate and key of this listener's CA: an agent with --agent-cert and --agent-key, a caller in its egress selector's configuration.",
  DB_PEER_CERT_EXPIRED:
    "Renew the peer's certificate, for example with drawbridge pki renew --dir DIR where its signer's key is; it is read again by itself.",
  DB_PEER_CERT_NOT_YET_VALID: "Compare the clocks of both hosts and of the one that issued the certificate.",
  DB_PEER_CERT_UNTRUSTED:
    "Give the peer a certificate of this listener's CA, with the intermediate authorities behind it in its file, or add its issuer to the file of --cluster-ca-cert (agents) or --server-ca-cert (callers).",
  DB_PEER_CERT_USE: "Issue the peer a certificate whose extended key usage has clientAuth.",
  DB_PEER_CERT_CHAIN:
    "Issue the peer a certificate by an authority that is valid and may issue it; drawbridge pki renew --new-signers makes a new one.",
  DB_PEER_PLAIN_TEXT: "Make the peer speak TLS to this port, or send it to a listener without TLS.",
  DB_PEER_TLS:
    "Compare the TLS versions, ciphers and certificates of both sides; the peer's own log says what it objected to.",
  DB_PEER_DISTRUSTS:
    "Give the peer the CA that issued this server's certificate (--cluster-cert for agents, which take the CA as --ca-cert; --server-cert for callers), or issue the server a certificate that is valid and has the name that the peer dials.",
  DB_PEER_HUNG_UP:
    "Read the peer's own log: it says why. Where it does not trust this server's certificate, give it the CA that issued it (--cluster-cert for agents, which take the CA as --ca-cert; --server-cert for callers), or issue the server a certificate that is valid and has the name that the peer dials.",
  DB_PEER_WRONG_PORT:
    "Send agents to --agent-port, and callers to a frontend of their own protocol (gRPC or HTTP CONNECT).",
  DB_AGENT_CLAIM:
    "Change the agent's --agent-identifiers; add a rule to the file of --agent-claims-file only if this agent may have every dial for what it claims.",
  DB_AGENT_TOKEN:
    "Compare the agent's service account, namespace and token audience with --agent-service-account, --agent-namespace and --authentication-audience; where the token has expired or was invalidated, restart the agent's pod, which gives it a new one.",
  DB_TOKEN_REVIEW:
    "Look into the server's log for this agent: it says why the token was not reviewed; the server needs a way to the Kubernetes API and the right to create tokenreviews (ClusterRole system:auth-delegator).",
  DB_SERVER_HEADERS_MISSING:
    "Check that the address leads to the agent port of a proxy-server and that the server accepts this agent.",
  DB_SERVER_HEADERS_TIMEOUT: "Check the server's health and whether something between the two only half works.",
  DB_SERVER_HUNG_UP: "Look into the server's log for this host's address: it says which certificate or token it wants.",

  // Connections to a server, for whoever dials
  DB_NAME_UNKNOWN:
    "Correct the name, or make its record at the DNS server that the message names; drawbridge reads /etc/hosts and /etc/resolv.conf again by itself.",
  DB_NAME_SERVER:
    "Fix the DNS server that the message names, or the path to it, or name another one in /etc/resolv.conf.",
  DB_CONNECT_REFUSED:
    "Start the server, or correct the address and port; the server's log has a line listening for each of its ports.",
  DB_CONNECT_TIMEOUT:
    "Open the path: let firewalls, security groups and NetworkPolicies pass TCP to that address and port.",
  DB_CONNECT_UNREACHABLE:
    "Fix the route or the firewall rule of this host, or correct the address; a link-local one has its interface behind it, as in fe80::1%eth0.",
  DB_HTTPS_PROXY:
    "Correct HTTPS_PROXY in the environment of this process (address, port and login), or put the server's address into NO_PROXY so that it is dialled without the proxy.",
  DB_OPEN_FILES:
    "Raise the limit of open files: LimitNOFILE=1048576 in the unit of this process, or ulimit -n 65536 before it starts; where the message says ENFILE, that of the whole host (sysctl fs.file-max).",
  DB_TLS_NOT_SPOKEN:
    "Dial the port that speaks TLS (an agent's --proxy-server-port is the server's --agent-port, a frontend's is --server-port), or look at what is between: a proxy, a load balancer without a server behind it.",
  DB_TLS_FAILED:
    "Compare the TLS versions, ciphers and certificates of both sides with openssl s_client; the message has the reason that TLS gave.",
  DB_TLS_UNKNOWN_CA:
    "Give the file of the authority that issued the server's certificate (--ca-cert of an agent, ca= of a --frontend); where an intermediate authority issued it, append that one to the server's certificate file.",
  DB_TLS_SERVER_NAME:
    "Dial one of the names that the certificate has (--proxy-server-host of an agent, servername= of a --frontend), or issue the server a certificate for the name that is dialled.",
  DB_TLS_SERVER_EXPIRED:
    "Compare the time in the message with the real time, and set this host's clock if it is ahead; otherwise renew the server's certificate, for example with drawbridge pki renew --dir DIR where its signer's key is; a proxy-server reads it again by itself.",
  DB_TLS_CA_EXPIRED:
    "Make a new authority and certificates of it, and hand its file out before the certificates; drawbridge pki renew --new-signers keeps that order.",
  DB_TLS_SERVER_USE: "Issue the server a certificate whose extended key usage has serverAuth.",
  DB_TLS_SERVER_CHAIN:
    "Issue the server a certificate by an authority that may issue it, as the message says; drawbridge pki init makes such a set.",
  DB_TLS_CLOCK:
    "Set the clocks of this host, of the server's and of the one that issued the certificate (chronyc makestep); where they are right, wait until its time, or issue one that is valid now.",
  DB_TLS_OWN_EXPIRED:
    "Renew the certificate in the file that the message names, for example with drawbridge pki renew --dir DIR where its signer's key is; it is read again by itself.",
  DB_TLS_OWN_USE:
    "Issue a certificate whose extended key usage has clientAuth, and put it into the file that the message names.",
  DB_TLS_OWN_MISSING:
    "Give a certificate and its key: --agent-cert and --agent-key of an agent, cert= and key= of a --frontend.",
  DB_TLS_OWN_REFUSED:
    "Do what the message says; where it says no more, let the server's CA file contain the issuer that it names (--cluster-ca-cert for agents, --server-ca-cert for callers), or give this process a certificate of an authority in it; where an intermediate authority issued it, append that one to the file with the certificate.",
  DB_SERVER_ID_TWICE:
    "Give every server a --server-id of its own (the environment variable PROXY_SERVER_ID sets it, too); where both addresses lead to one server, name it once in --proxy-server-host.",
  DB_WRONG_PORT:
    "Dial the port for this kind of peer: agents --agent-port of the server with their --proxy-server-port, callers --server-port of the server, in the protocol of its --mode (a sidecar with --frontend, HyperShift's proxies with --konnectivity-port); the server's log has a line listening for each.",

  // Kubernetes API
  DB_API_REQUEST: "Fix what the API server's words name; kubectl with the same kubeconfig gets the same answer.",
  DB_API_KIND:
    "Install the CustomResourceDefinition (drawbridge nodepool install brings that of NodePools), or name another cluster with --kubeconfig and --context.",
  DB_API_UNREACHABLE:
    "Check the server's address in the kubeconfig, and the path to it from here: kubectl --kubeconfig FILE version.",
  DB_API_PROXY:
    "Correct proxy-url in the kubeconfig (address, port and login: http://USER:PASSWORD@HOST:PORT), take it out where the API is reached without a proxy, or have the proxy allow the API's address.",
  DB_API_NOT_KUBERNETES:
    "Correct server: in the kubeconfig so that it leads to the port of a kube-apiserver; if a load balancer or proxy in between answered, look there why it has no API server to ask.",
  DB_API_CERTIFICATE:
    "Take the kubeconfig of this cluster: its certificate-authority-data has to be the CA of the API server's certificate, and its server a name in that certificate; one that has expired is renewed on the API server's host.",
  DB_API_UNAUTHENTICATED:
    "Take a kubeconfig of this cluster whose token or client certificate has not expired; kubectl --kubeconfig FILE auth whoami shows whom it stands for.",
  DB_API_FORBIDDEN:
    "Give this identity the permission that the message names, with a Role or ClusterRole and its binding; kubectl auth can-i shows what it may do.",
  DB_OBJECT_REFUSED:
    "Read the cluster's own words in the message; another manager's fields are taken over only with --force-conflicts.",

  // The bridge
  DB_BRIDGE_OPTIONS: "Change the option that the message names; drawbridge bootstrap render --help explains each.",
  DB_RENDER_WRITE:
    "Check that the directory of --out has space and may be written by this user; existing files are as they were.",
  DB_ADDRESS_REFUSED:
    "Give the bootstrap host's own address on the network that nodes share, not a VIP, a name or a local address.",
  DB_ADDRESS_NOT_FOUND: "Give the address with the flag, or in DRAWBRIDGE_BOOTSTRAP_NODE_IP.",
  DB_ADDRESS_LOOKUP: "Install iproute2, or give the address with the flag on a host that has it.",
  DB_ADDRESS_CHANGED:
    "Give the earlier address with the flag if it still leads here; otherwise take the bridge down and bring it up again.",
  DB_FIREWALL_MANIFEST:
    "Run openshift-install create manifests first and give that directory, or open the port with the commands of drawbridge firewall plan.",

  // The bridge on its host
  DB_BRIDGE_RECORD:
    "Run the command as root, or make the state directory readable and writable for this user, or name the right one with --state-dir.",
  DB_RECORD_UNTRUSTED:
    "Look at what it says, then give the file and its directory to root or to this user, with modes 0600 and 0700; without the record, teardown looks in every place a bridge uses.",
  DB_BRIDGE_EXISTS:
    "Take the other one down first with drawbridge bootstrap teardown, or repeat up with the options it was made with.",
  DB_BRIDGE_ABSENT: "Run the command on the host where up was run, or name its state directory with --state-dir.",
  DB_BRIDGE_ENDED:
    "Run drawbridge bootstrap teardown and, if the bridge is still needed, drawbridge bootstrap up with a longer --for.",
  DB_HOST_FILE:
    "Run the command as root and check that the directory has space and may be written; running it again goes on where it stopped.",
  DB_HIGHLY_AVAILABLE:
    "Give --only-this-apiserver if the others reach pods without a bridge; otherwise bring the bridge up before the other control-plane nodes join.",
  DB_SERVER_START: "Read the server's log, correct what it complains about and run up again.",
  DB_API_SERVER_CHANGE:
    "Change it by hand as the message says and run the command again; a backup of what was changed is in the state directory.",
  DB_API_SERVER_WAIT:
    "Look at its log, fix it and run the command again, with a longer --timeout if the host is only slow.",
  DB_AGENTS_WAIT:
    "Run drawbridge bootstrap status for the nodes that are missing, and check that they reach the agents' port on this host.",

  // bootstrap.ign
  DB_IGNITION_FILE:
    "Give the bootstrap.ign that openshift-install create ignition-configs wrote, complete and uncompressed.",
  DB_IGNITION_SPEC: "Use the bootstrap.ign of an installer from 4.6 on, which writes spec 3.",
  DB_IGNITION_CONTENT:
    "Generate it again with openshift-install and undo what other tools did to it; nothing was changed.",
  DB_IGNITION_SHIM: "Inject into the bootstrap.ign that it points to, before that is uploaded.",
  DB_IGNITION_ANCHORS:
    "Check that it is an unmodified bootstrap.ign of a supported release and report the list of anchors; nothing was changed.",
  DB_IGNITION_WRITE: "Make room, or choose another place with --out; the input is as it was.",
  DB_INJECT_IMAGE:
    "Name an image that has proxy-server and proxy-agent with --image (and --image-kind if it is not the payload's kind).",

  // Looking at a bridge from outside
  DB_INSTALL_DIR:
    "Give the directory that openshift-install create cluster ran in, or say with --bootstrap, --key and --kubeconfig what it would have said.",
  DB_SSH:
    "Try the same with ssh by hand; give the key with --key, the user with --user and the address with --bootstrap.",
  DB_GATHER: "Run the command as root on the bootstrap host, or name that host with --bootstrap or --dir.",
  DB_ARCHIVE_WRITE:
    "Name a file with --out in a directory that has space and may be written by this user; a file that was there is as it was.",
  DB_BUNDLE:
    "Give an archive of drawbridge bootstrap gather, a log bundle of openshift-install gather bootstrap, or a directory with one of them unpacked; gather again if it is damaged.",

  // Pools, tokens and the nodes that join
  DB_NODEPOOL:
    "Correct the field that the message names and apply the object again; its conditions say when it is taken.",
  DB_NODEPOOL_CONFIG:
    "Correct the document that the message names in its ConfigMap; machines keep what they have, and no new Secret is made until then.",
  DB_NODEPOOL_DIRECTORY: "Correct what the message names; nothing is changed on the strength of half a directory.",
  DB_NODEPOOL_HYPERSHIFT:
    "Use its token and user-data Secrets as they are; two controllers on one pool would undo each other's work.",
  DB_NODEPOOL_INSTALL: "Run drawbridge nodepool install with an administrator's kubeconfig.",
  DB_WORKERS: "Correct what the message names and run the command again; workers that are recorded already are kept.",
  DB_WORKERS_DRAIN:
    "Let them go with the flag that the message names, or give them room elsewhere, and run the command again; it goes on where it stopped.",
  DB_WORKERS_WAIT:
    "Do what the message says, ask drawbridge workers doctor for the cause, and run the same command again; it goes on where it stopped.",
  DB_SIMULATE_FETCH:
    "Ask drawbridge workers doctor for the cause; a machine that was refused gives up, one that got no answer or 511 asks again.",
  DB_SIMULATE_ROOT: "Name a new directory with --root, on a file system that has links and modes.",
  DB_SIMULATE_JOIN:
    "Look at its request with drawbridge csr explain, and at the worker with drawbridge workers doctor.",
  DB_NODE_PAYLOAD:
    "Fix what the message names; the Ignition server tries again by itself, and machines go on by themselves.",
  DB_NODE_USER_DATA:
    "Write it again with drawbridge workers userdata NAME, or with workers doctor --fix, and boot the machine again.",
  DB_NODE_USER_DATA_OLD:
    "Write it again with drawbridge workers userdata NAME, or with workers doctor --fix, before a machine boots with it.",
  DB_NODE_TOKEN_UNKNOWN:
    "Write it again with drawbridge workers userdata NAME, or with workers doctor --fix, and boot the machine again.",
  DB_NODE_TOKEN_EXPIRED:
    "Write it again with drawbridge workers userdata NAME, or with workers doctor --fix, and boot the machine again.",
  DB_NODE_IGNITION_NAME:
    "Let nodepool controller --issue-certificate issue it for the published address, or publish the address that the certificate has.",
  DB_NODE_IGNITION_UNREACHABLE:
    "Start drawbridge ignition serve, or fix the path to it; machines go on asking until it answers.",
  DB_NODE_CREDENTIAL:
    "Let drawbridge nodepool controller --issue-bootstrap-kubeconfig make the Secret bootstrap-kubeconfig, or correct what the message names.",
  DB_NODE_CREDENTIAL_ENDING:
    "See that drawbridge nodepool controller --issue-bootstrap-kubeconfig runs and may renew it; a Secret that a person made needs the label app.kubernetes.io/managed-by=drawbridge for that.",
  DB_NODE_CREDENTIAL_REFUSED:
    "Let the controller make the Secret bootstrap-kubeconfig again: delete it, or give it the label app.kubernetes.io/managed-by=drawbridge; what the message names may need drawbridge nodepool install.",
  DB_NODE_CREDENTIAL_SERVER:
    "Correct apiServer and apiServerCA in the cluster's ConfigMap; the controller then makes the kubeconfig again. One made by hand is yours to correct.",
  DB_NODE_CSR_PENDING:
    "Fix what the message names, or approve the request with workers doctor --fix where its rules allow that, or with drawbridge csr approve.",
  DB_NODE_NOT_READY:
    "Read the words of the node and of its network's pods in the message, and the logs of those that do not run.",
  DB_NODE_OVN_CERT: "Make it with drawbridge workers doctor --fix; --fix --dry-run says from what.",
  DB_NODE_UNCHECKED: "Fix what the message names, access to the cluster say, and ask again.",
  DB_FIX_LOG: "Name a file with --fix-log that this user can write to.",
  DB_TOKEN_SECRET: "Delete the Secret; the pool's controller makes it again with a fresh token within seconds.",
  DB_CSR_REQUEST:
    "Look at it with drawbridge csr explain; a kubelet that gets no answer files a new request after a quarter of an hour.",
  DB_CSR_INVENTORY:
    "Correct the record that the message names; nothing is approved on the strength of a broken inventory.",
  DB_CSR_LOG:
    "Make its directory writable for this user and see that there is space; nothing is approved without a record.",

  // Ignition configs
  DB_IGNITION_CONFIG: "Give a complete Ignition config of spec 3 as plain JSON.",
  DB_IGNITION_INVALID: "Correct what the message names; drawbridge ignition validate lists everything that is wrong.",
  DB_IGNITION_EXPRESS:
    "Remove what the message names, or write a newer spec version with --spec if the machines understand it.",
  DB_IGNITION_RESOURCE:
    "Correct the source, compression or hash that the message names, or fetch it first and put it into the config as a data URL.",
  DB_PAYLOAD:
    "Correct or create what the message names; the Ignition server tries again by itself, and machines wait until it succeeds.",
  DB_PAYLOAD_HASH:
    "Name one of the hashes in the message, or `current`; after a change the payload before it is there for two hours.",
  DB_WORKER_TOKENS: "Correct the entry that the message names; until then the tokens of the last good list stay valid.",
  DB_IGNITION_AUDIT: "Make the file's directory writable for this user and see that there is space.",

  // Hosted control planes
  DB_HOSTED_CONFIG:
    "Change what the message names in the file of --config or on the command line; docs/hosted.md explains every field.",
  DB_HOSTED_ADDRESS:
    "Give publishing.hostname or publishing.address, or wait until the cluster has assigned one and run the command again.",
  DB_HOSTED_IN_USE:
    "Take the patch out of the kube-apiserver's Deployment first, or give --force if the control plane goes as well.",

  // Ways of the sidecar
  DB_SIDECAR_NAME:
    "Check the name's spelling and the resolvers that the message lists; --resolve chooses others, or leaves names to the agents.",
  DB_SIDECAR_LOOP: "Correct the address in the client, or the proxy variable that points to the sidecar.",
  DB_SIDECAR_PROXY:
    "Check the proxy's URL, login and authorities, and what the proxy itself said; the message repeats that.",
  DB_SIDECAR_DIRECT:
    "Try the same address from the sidecar's pod; if it should have gone through the tunnel, leave the bypass off.",

  // Ourselves
  DB_OBSERVER: "Report it together with the warning's text.",
} as const satisfies Record<string, string>;

export type ErrorCode = keyof typeof remedies;
