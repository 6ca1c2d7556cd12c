/** A Kubernetes label selector (`app=x,tier in (a,b),!old,weight>3`); the API server does the matching. */
import { type Flag, restricted, text } from "./flag.js";
import { quote } from "./go-values.js";

const NAME = "[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?";
const KEY = `(?:[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?/)?${NAME}`;
const VALUE = `(?:${NAME})?`;
const CONDITION = `(?:==?|!=)${VALUE}|[<>][+-]?\\d{1,18}|[ \\t\\r\\n]+(?:not)?in\\(${VALUE}(?:,${VALUE})*\\)`;
const REQUIREMENT = `(?:!${KEY}|${KEY}(?:${CONDITION})?)`;
const SELECTOR = new RegExp(`^(?:${REQUIREMENT}(?:,${REQUIREMENT})*)?$`);

/** Empty selects everything. */
export function isLabelSelector(selector: string): boolean {
  return SELECTOR.test(selector.replace(/[ \t\r\n]*([=!<>(),])[ \t\r\n]*/g, "$1").trim());
}

/** Which leases count. */
export const labelSelector: Flag<string> = restricted(
  text("Which leases count, as a label selector. If empty, all.", "k8s-app=konnectivity-server"),
  (given) =>
    isLabelSelector(given)
      ? undefined
      : `unable to parse requirement: ${quote(given)} is not a label selector such as app=x,tier in (a,b),!old`,
);
