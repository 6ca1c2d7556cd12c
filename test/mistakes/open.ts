/** Rows that are not good yet, with what is missing. They are counted as they are; one that has become good must go. */
export const open: Readonly<Record<string, string>> = {};
