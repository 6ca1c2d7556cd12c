export { createNamespace, destroyAll, type Namespace } from "./namespace.js";
export { addAddress, addBridge, addNeighbour, addRoute, link, type Route } from "./network.js";
export { canUseNamespaces, requireNamespaces } from "./probe.js";
