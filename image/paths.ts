/** Where things are in the image. */
export const PATHS = {
  home: "opt/drawbridge",
  documents: "usr/share/doc",
  contents: "usr/share/doc/drawbridge/contents.json",
} as const;
