/** Where things are in the image. */
export const PATHS = {
  home: "opt/drawbridge",
  man: "usr/share/man/man1",
  documents: "usr/share/doc",
  contents: "usr/share/doc/drawbridge/contents.json",
} as const;
