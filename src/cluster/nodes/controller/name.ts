/** Of the controller's Lease, ServiceAccount and Deployment. */
export const controllerName = "drawbridge-nodepool-controller";
