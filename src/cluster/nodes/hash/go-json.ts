/** JSON as Go's encoder writes it: the hashes are taken over its bytes. */

// Go escapes these so that its output can stand inside HTML and JavaScript.
const ESCAPED = /[<>&\u2028\u2029]/g;

/** Members in the order they were put in; undefined ones are left out, as omitempty does. */
export function goJson(value: unknown): string {
  return JSON.stringify(value).replace(
    ESCAPED,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Undefined for what Go's omitempty leaves out of strings and lists. */
export function omitEmpty<T extends string | readonly unknown[]>(value: T | undefined): T | undefined {
  return value === undefined || value.length === 0 ? undefined : value;
}
