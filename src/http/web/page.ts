import { createHash } from 'node:crypto'
import { IMPORT_MAP } from './libraries.ts'
import { ICON } from './pages.ts'

/** A page is a shell that loads its script. All texts are our own: nothing of a listing or a reader is in it. */
export type Page = {
  /** The route that it is served at: one segment at most, since what it loads is named relative to it. */
  path: string
  /** One line about it for the documents. */
  summary: string
  title: string
  /** HTML, for who has no script. */
  withoutScript: string
  /** Its module, below `src/` and without the extension. */
  entry: string
  /** Its style sheets, below `assets/`. */
  styles: readonly string[]
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('base64')

/**
 * Only files of this origin, and no markup made from text: `require-trusted-types-for` makes the browser refuse every
 * `innerHTML` (W3C Trusted Types). The import map is the one inline script, named by its hash.
 */
export const PAGE_POLICY = [
  "default-src 'none'",
  `script-src 'self' 'sha256-${sha256(IMPORT_MAP)}'`,
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

/**
 * Addresses are relative: a proxy may serve all of it below a path.
 * @param modules paths of all modules behind it, to be fetched at once rather than one behind the other
 */
export const renderPage = ({ title, withoutScript, styles }: Page, modules: readonly string[]): string =>
  `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="assets/${ICON}" type="image/svg+xml">
${styles.map((path) => `<link rel="stylesheet" href="assets/${path}">`).join('\n')}
<script type="importmap">${IMPORT_MAP}</script>
${modules.map((path) => `<link rel="modulepreload" href="assets/${path}">`).join('\n')}
<script type="module" src="assets/${modules[0]}"></script>
</head>
<body>
<div id="app"></div>
<noscript><p>${withoutScript}</p></noscript>
</body>
</html>
`
