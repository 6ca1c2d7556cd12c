/** Machines that others make. */
import type { Provider } from "./provider.js";

export const none: Provider = { settings: [], steps: () => [] };
