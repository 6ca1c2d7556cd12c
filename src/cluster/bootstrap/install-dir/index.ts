export { type InstallDirectory, openInstallDirectory } from "./install-dir.js";
