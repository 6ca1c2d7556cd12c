/** Of the controller's Lease, ServiceAccount and Deployment. */
export const CONTROLLER_NAME = "drawbridge-nodepool-controller";
