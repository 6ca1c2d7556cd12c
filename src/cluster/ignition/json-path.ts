/** Places in a config, as Ignition names them. */
import type { JsonNode, JsonObject } from "../../base/located-json.js";

/** How to get to a value from the top: member names and list positions. */
export type JsonPath = readonly (string | number)[];

/** `storage.files.0.path`, as Ignition's own tools write it, or `the top`. */
export function pathText(path: JsonPath): string {
  return path.length === 0 ? "the top" : path.join(".");
}

/**
 * Finds the value at the end of a path or the last one on the way that is really there. Keeps what it learns of each
 * object, so that many questions about a long one cost no more than its length.
 */
export function finder(root: JsonNode): (path: JsonPath) => JsonNode {
  const known = new Map<JsonObject, Map<string, JsonNode>>();
  const membersOf = (object: JsonObject): Map<string, JsonNode> => {
    const found = known.get(object) ?? new Map(object.members.map(({ name, value }) => [name.toLowerCase(), value]));
    known.set(object, found);
    return found;
  };
  return (path) => {
    let node = root;
    for (const step of path) {
      let next: JsonNode | undefined;
      if (node.kind === "object") next = membersOf(node).get(String(step).toLowerCase());
      else if (node.kind === "array") next = node.items[Number(step)];
      if (next === undefined) break;
      node = next;
    }
    return node;
  };
}
