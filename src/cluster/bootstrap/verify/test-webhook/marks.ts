/** What the test webhook and the test that uses it agree on. */

/** Only objects with this label are the test webhook's business; its value is one test's token. */
export const TOKEN_LABEL = "drawbridge-verify";
/** Put on such an object by the test webhook: the address that its call came from. */
export const SEEN_FROM = "drawbridge-verify-seen-from";
export const WEBHOOK_PATH = "/mutate";
export const WEBHOOK_PORT = 8443;
