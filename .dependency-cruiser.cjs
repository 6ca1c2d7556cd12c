// Who may import whom (docs/architecture.md). A room is a folder of src/.
const only = (from, ...to) => ({
  name: `${from}-imports`,
  severity: "error",
  comment: `${from}/ may import only ${["base", ...to].join(", ")} and itself of this project`,
  from: { path: `^src/${from}/`, pathNot: "\\.(test|fuzz)\\.ts$|/testing/" },
  to: { path: "^src/", pathNot: [from, "base", ...to].map((room) => `^src/${room}(/|\\.ts$)`) },
});

const noNode = (room) => ({
  name: `${room}-is-pure`,
  severity: "error",
  comment: `${room}/ opens no sockets and no files`,
  from: { path: `^src/${room}/`, pathNot: "\\.(test|fuzz)\\.ts$|/testing/" },
  to: { path: "^(node:)?(net|tls|http|https|http2|fs|fs/promises|child_process)$" },
});

module.exports = {
  forbidden: [
    {
      name: "no-cycles",
      severity: "error",
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ["type-only"] } },
    },
    only("base", "errors"),
    only("errors"),
    only("memory"),
    only("wire", "errors"),
    only("tunnel", "wire", "errors", "memory"),
    only("link", "wire", "errors", "memory"),
    only("resolver", "errors", "memory", "wire"),
    only("pki", "errors"),
    only("kube", "errors"),
    only("observe", "errors", "wire", "link"),
    only("server", "errors", "memory", "wire", "link", "tunnel", "pki", "kube", "observe"),
    only("agent", "errors", "memory", "wire", "resolver", "link", "tunnel", "pki", "kube", "observe"),
    only("client", "errors", "wire", "link", "tunnel", "pki"),
    only("bootstrap", "errors", "wire", "pki", "kube", "observe", "client"),
    only("sidecar", "errors", "memory", "wire", "resolver", "pki", "kube", "observe", "client"),
    only("hosted", "errors", "wire", "pki", "kube", "observe", "client"),
    only("ignition", "errors", "wire", "pki", "kube", "observe"),
    only("nodepool", "errors", "wire", "pki", "kube", "observe", "ignition"),
    only("doctor", "errors", "wire", "pki", "kube", "observe", "client", "bootstrap", "nodepool", "watch"),
    only("support", "errors", "observe", "bootstrap", "watch"),
    only("watch", "errors", "wire", "observe", "client"),
    noNode("wire"),
    noNode("tunnel"),
    noNode("memory"),
    {
      name: "http2-only-in-link",
      severity: "error",
      comment: "link/ is the only room that knows HTTP/2",
      from: { path: "^src/(?!link/)", pathNot: "\\.(test|fuzz)\\.ts$|/testing/" },
      to: { path: "^src/link/h2/|^(node:)?http2$" },
    },
    {
      name: "x509-only-in-pki",
      severity: "error",
      from: { path: "^src/", pathNot: "^src/pki/" },
      to: { path: "@peculiar/x509|reflect-metadata" },
    },
    {
      name: "kube-is-lazy",
      severity: "error",
      comment: "tunnel roles load the Kubernetes client and the issuing code only when a flag asks for them",
      from: {
        path: "^src/(server|agent|client|cli|bootstrap|sidecar|hosted|ignition|nodepool)/",
        pathNot: "\\.(test|fuzz)\\.ts$|/testing/",
      },
      to: {
        path: "^src/kube/(client|open|kubeconfig/|connection|proxy)|^src/pki/(issue|certificates-for|renew|add-certificate|make-request)",
        dependencyTypesNot: ["type-only", "dynamic-import"],
        dynamic: false,
      },
    },
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "node", "default"] },
  },
};
