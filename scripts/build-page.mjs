// Builds the live page into one file without anything from elsewhere: the admin port serves it as it is.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";

/** `root` is the project's folder, `folder` where index.html is put. */
export async function buildPage(root, folder) {
  const { outputFiles } = await build({
    entryPoints: { page: join(root, "page/main.tsx"), styles: join(root, "page/all.css") },
    bundle: true,
    write: false,
    outdir: folder,
    format: "esm",
    target: ["es2022", "chrome109", "firefox115", "safari16.4"],
    jsx: "automatic",
    jsxImportSource: "preact",
    minify: true,
    legalComments: "none",
    // Kept beside the page, not sent to anybody: it says which packages went into it.
    sourcemap: "external",
    sourcesContent: false,
    define: { "process.env.NODE_ENV": '"production"' },
  });
  const text = (ending) => outputFiles.find(({ path }) => path.endsWith(ending)).text.trim();
  // A closing tag inside a string would end the element.
  const script = text("page.js").replaceAll("</script", "<\\/script");
  const html = readFileSync(join(root, "page/template.html"), "utf8")
    // Functions: a `$` in the text must stay what it is.
    .replace("/* styles */", () => text("styles.css"))
    .replace("/* script */", () => script);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "index.html"), html);
  writeFileSync(join(folder, "page.js.map"), text("page.js.map"));
}
