/** Things by name or by the beginning of their names, in their own order; all where none is named. Throws a sentence. */
export function choose<T extends { readonly name: string }>(
  all: readonly T[],
  names: readonly string[],
  what: string,
): readonly T[] {
  const unknown = names.find((name) => !all.some((each) => each.name.startsWith(name)));
  if (unknown !== undefined) {
    throw new Error(`There is no ${what} called ${unknown}; choose from ${all.map(({ name }) => name).join(", ")}.`);
  }
  return names.length === 0 ? all : all.filter(({ name }) => names.some((each) => name.startsWith(each)));
}
