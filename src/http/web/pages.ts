import { createHash } from 'node:crypto'
import { IMPORT_MAP, UPLOT_STYLE } from './assets.ts'

export const ICON = 'web/icon.svg'

const BOARD: Page = {
  path: '/',
  summary: 'Web UI',
  title: 'entrepot',
  withoutScript:
    'The board needs JavaScript. The same market is at <a href="listings">listings</a>, as JSON.',
  entry: 'web/board',
  styles: ['web/base.css', UPLOT_STYLE, 'web/board.css', 'web/listings.css', 'web/sheet.css'],
}

const OPERATOR: Page = {
  path: '/operator',
  summary: 'Web UI of the operator',
  title: 'entrepot: operator',
  withoutScript:
    'This page needs JavaScript. The same can be done with <code>entrepot keys</code> and the routes under <code>admin/</code>.',
  entry: 'web/operator',
  styles: ['web/base.css', 'web/operator.css'],
}

export const PAGES: readonly Page[] = [BOARD, OPERATOR]

/** A shell that loads its script. All texts are our own, so they are not escaped. */
export type Page = {
  /** One segment at most: the page's URLs are relative to it. */
  path: string
  summary: string
  title: string
  withoutScript: string
  entry: string
  styles: readonly string[]
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('base64')

/** Browsers refuse every `innerHTML` (W3C Trusted Types). The hash allows the inline import map. */
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

/** URLs are relative, so that a proxy may serve the pages below a path. `modules` starts with the entry. */
export const renderShell = ({ title, withoutScript, styles }: Page, modules: readonly string[]): string =>
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
